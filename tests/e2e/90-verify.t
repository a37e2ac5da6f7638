#!/bin/sh
# Records are signed while they are made, and verify tells whether they still are what was written.
. "$(dirname "$0")/lib.sh"
need_root

verify() {
	"$bin/vitrine" verify --state "$state" "$@" >"$work/log" 2>&1
	status=$?
	cat "$work/log" >>"$work/said"
	return $status
}

# verdict NAME STATUS ARGUMENTS...
verdict() {
	name=$1 want=$2
	shift 2
	verify "$@"
	is "$name" "$want" "$?"
}

run --quiet --name one -- /bin/sh -c 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done' 2>"$work/log"
ok $? "a session of many records ran"
run --quiet --name two -- /bin/true 2>"$work/log"
ok $? "another one ran"

verdict "an untouched record is intact and complete" 0 one
verdict "so is the state directory" 0
check "the key is root's alone, beside the state directory" \
	sh -c "[ \"\$(stat -c %a '$state.sign')\" = 600 ] && [ ! -e '$state/state.sign' ]"
check "no key is in the state directory" sh -c "! grep -rl vtrsign '$state'"

cp "$state.pub" "$work/keys"
cp -a "$state/sessions" "$work/copy"
one=$(basename "$(dirname "$(grep -l '"one"' "$state"/sessions/*/manifest.json)")")
dir=$state/sessions/$one

verdict "a copy is verified without its ledger: the first key is not known" 3 --key "$work/keys" "$work/copy/$one"
cp "$state/chain" "$work/copy/$one/chain"
verdict "with the ledger it is intact" 0 --key "$work/keys" "$work/copy/$one"
rm "$work/copy/$one/chain"

check "one event can be proved" sh -c "'$bin/vitrine' prove --state '$state' one 7 >'$work/proof'"
"$bin/vitrine" replay --state "$state" --json one 2>/dev/null | sed -n '7p;8p' >"$work/events"
sed -n 1p "$work/events" >"$work/event"
sed -n 2p "$work/events" >"$work/other"
verdict "by the public key alone" 0 --key "$work/keys" --proof "$work/proof" --event "$work/event"
verdict "and it is no proof of another event" 1 --key "$work/keys" --proof "$work/proof" --event "$work/other"
check "a session is made one file" "$bin/vitrine" bundle --state "$state" --sign --output "$work/one.tar" one
check "which other programs can read" sh -c "tar tf '$work/one.tar' | grep -qx checkpoints"
verdict "and is verified as it is" 0 --key "$work/keys" "$work/one.tar"
check "it becomes a session elsewhere" "$bin/vitrine" import --state "$work/there" --key "$work/keys" "$work/one.tar"
"$bin/vitrine" replay --state "$state" --json one >"$work/here.jsonl" 2>/dev/null
"$bin/vitrine" replay --state "$work/there" --json last >"$work/there.jsonl" 2>/dev/null
check "that reads the same" cmp "$work/here.jsonl" "$work/there.jsonl"
check "the host's key can be rotated" "$bin/vitrine" keys rotate --state "$state"
check "and exported" sh -c "'$bin/vitrine' keys export --state '$state' | cmp - '$work/keys'"

printf 'X' | dd of="$dir/000000.vtj" bs=1 seek=3000 conv=notrunc 2>/dev/null
verdict "a changed byte is tampering" 1 one
check "and the first bad record is named" grep -q 'bad record' "$work/said"
cp -a "$work/copy/$one/." "$dir/"
verdict "put back, it is intact" 0 one

mv "$dir/checkpoints" "$work/checkpoints"
verdict "checkpoints that are gone are tampering: the ledger knows of them" 1 one
mv "$work/checkpoints" "$dir/checkpoints"

mv "$dir" "$work/gone"
verdict "a session that is gone is missed" 1
mv "$work/gone" "$dir"
cp "$state/chain" "$work/chain"
sed -i '$d' "$state/chain"
verdict "a ledger that was cut is missed" 1
cp "$work/chain" "$state/chain"

echo '0 ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' >"$work/wrong"
verdict "another key does not do" 1 --key "$work/wrong" one
mv "$state.pub" "$work/pub"
verdict "without a key nothing can be told" 3 one
mv "$work/pub" "$state.pub"

"$bin/vitrine" run --state "$state" --quiet --name live -- /bin/sleep 30 2>"$work/log" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	sleep 0.5
	verify live
	[ $? -ne 2 ] || break
done
verdict "a live record is intact as far as it goes" 2 live
# The private daemon is the child of its client.
kill -9 "$(cut -d " " -f 1 "/proc/$pid/task/$pid/children")"
wait $pid 2>/dev/null
sleep 1
run --quiet --name after -- /bin/sleep 2 2>"$work/log"
ok $? "a later run finishes what a killed one left"
check "under a second key" sh -c "'$bin/vitrine' verify --state '$state' --json live | grep -q '\"openings\":2'"
verify live
check "which is no tampering" [ $? -ne 1 ]
verdict "the ledger and all others are as they were" 0

done_testing
