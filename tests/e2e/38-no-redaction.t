#!/bin/sh
# Without redaction there is no session: where the recorder finds no memory, once, at any place of its start, either nothing ran
# and the client is told, or the record is redacted as ever. STEP says how many places are passed over between two tries.
. "$(dirname "$0")/lib.sh"
need_root
if nm -D "$bin/vitrine-recorder" | grep -q __asan_init; then
	skip_all 'the sanitizer has an allocator of its own'
fi
make_workspace
step=${STEP:-10}

SECRET=correct-horse-battery-staple
export SECRET
mkdir "$work/bin"
cp "$bin"/* "$work/bin/"
mv "$work/bin/vitrine-recorder" "$work/bin/recorder"
cat >"$work/bin/vitrine-recorder" <<-SH
	#!/bin/sh
	FAIL_ALLOC=\$(cat "$work/number") LD_PRELOAD=$tests/fail_alloc.so exec "$work/bin/recorder" "\$@"
SH
chmod 755 "$work/bin/vitrine-recorder"

# try N: a session whose recorder fails to get its Nth piece of memory. Says how it came out.
try() {
	echo "$1" >"$work/number"
	rm -f "$workspace/ran"
	"$work/bin/vitrine" run --quiet --state "$state" --workspace "$workspace" --secret SECRET=env:SECRET -- \
		sh -c 'touch /workspace/ran; echo "it is $SECRET"; echo password=hunter2-and-more' >"$work/out" 2>"$work/err"
	status=$?
	if [ ! -e "$workspace/ran" ]; then
		cat "$work/err" >>"$work/words"
		[ $status -eq 125 ] && [ -s "$work/err" ] && echo refused || echo "status $status without a word"
	elif [ $status -eq 0 ]; then
		"$bin/vitrine" replay --state "$state" --json last >"$work/record"
		[ "$(grep -c '"data":"it is \[REDACTED:SECRET:' "$work/record")" -eq 1 ] && ! grep -q hunter2 "$work/record" &&
			echo redacted || echo 'not redacted'
	else
		echo ended
	fi
}

is 'with all of its memory a session is recorded and redacted' redacted "$(try 0)"
: >"$work/came"
n=1
while [ $n -lt 400 ]; do
	echo "$n $(try $n)" >>"$work/came"
	n=$((n + step))
done
is 'without, nothing ran, or all was redacted, or the session was ended' '' "$(grep -Ev ' (refused|redacted|ended)$' "$work/came")"
check 'sessions were refused' grep -q refused "$work/came"
check 'and say what cannot be set up' grep -q 'cannot set up redaction' "$work/words"
check 'and others were not' grep -q redacted "$work/came"
grep -raq "$SECRET" "$state"
is 'the secret is nowhere' 1 $?

done_testing
