#!/bin/sh
# Readers that find no memory, once, at any place: they say so and fail, or it made no difference. Never another answer.
# STEP says how many places are passed over between two tries.
. "$(dirname "$0")/lib.sh"
need_root
if nm -D "$bin/vitrine" | grep -q __asan_init; then
	skip_all 'the sanitizer has an allocator of its own'
fi
step=${STEP:-7}

"$bin/vitrine" run --quiet --state "$state" -- sh -c 'ls / >/tmp/x; unshare -U true; getent hosts a.test; rm /tmp/x' >/dev/null 2>&1
[ -d "$state/sessions" ]
ok $? 'a session was recorded'

# tried COMMAND...: with each allocation failing in its turn, until there are no more.
tried() {
	name=$1
	"$bin/vitrine" "$@" --state "$state" >"$work/want" 2>"$work/log"
	want=$?
	bad=0
	n=1
	while [ $n -lt 600 ]; do
		FAIL_ALLOC=$n LD_PRELOAD=$tests/fail_alloc.so "$bin/vitrine" "$@" --state "$state" >"$work/have" 2>"$work/err"
		have=$?
		if [ $have -eq $want ]; then
			cmp -s "$work/want" "$work/have" || [ -s "$work/err" ] || bad=1
		elif [ $have -eq 139 ] || [ ! -s "$work/err" ]; then
			bad=1
		fi
		[ $bad -eq 0 ] || break
		n=$((n + step))
	done
	[ $bad -eq 0 ] || {
		echo "allocation $n: status $have instead of $want"
		cat "$work/err"
		diff "$work/want" "$work/have" | head -5
	} >>"$work/log"
	ok $bad "$name: no allocation that fails changes the answer"
}

tried ps
tried replay --json last
tried search --json kind:exec
tried files last
tried lineage last /tmp/x
tried diff last last
tried export last --format ocsf
tried export last --format ecs
tried export last --format cef
done_testing
