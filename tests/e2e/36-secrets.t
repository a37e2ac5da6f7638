#!/bin/sh
# How a session gets its secrets: as variables or files, for one program alone, for a time; and what the record says of it.
. "$(dirname "$0")/lib.sh"
need_root

TOKEN=a-planted-token-$$
export TOKEN
printf '%s\n' "$TOKEN" >"$work/token"

run --quiet --secret E=env:TOKEN --secret "F=file:$work/token,as=file" --secret D=fd:7,as=file,path=/run/secrets/deep/er,mode=0440,owner=root \
	-- sh -c 'echo "$E"; cat "$F_FILE"; echo; ls -n /run/secrets/F /run/secrets/deep/er; cat "$D_FILE" || echo refused; cat /proc/1/environ 2>/dev/null; true' \
	7<"$work/token" >"$work/out" 2>"$work/err"
is 'the command gets what it was given' 0 $?
is 'as a variable and as a file, byte for byte' 2 "$(grep -cxF "$TOKEN" "$work/out")"
check 'a file has the mode and the owner that were asked for' grep -Eq -- '^-r-------- +1 +1000 +1000 .* /run/secrets/F$' "$work/out"
check 'also in a directory below' grep -Eq -- '^-r--r----- +1 +0 +0 .* /run/secrets/deep/er$' "$work/out"
check 'and nobody else reads it' grep -qx refused "$work/out"

run --quiet --secret "K=env:TOKEN,as=file,only=/usr/bin/head" -- sh -c 'head -c 99 "$K_FILE"; echo; cat "$K_FILE"; cp "$K_FILE" /tmp/k; ln /run/secrets/K /run/secrets/L
	dd if="$K_FILE" 2>/dev/null; head -c 99 "$K_FILE"; echo' >"$work/out" 2>"$work/err"
is 'one program alone opens it, as often as it likes' 2 "$(grep -cxF "$TOKEN" "$work/out")"
replay --kind attempt >"$work/record"
is 'each other program that tried is an attempt' 3 "$(grep -c '"reason":"secret_only"' "$work/record")"

run --quiet --secret "K=env:TOKEN,as=file,ttl=300ms" -- sh -c 'exec 3<"$K_FILE"; i=0; while [ -e "$K_FILE" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done
	[ ! -e "$K_FILE" ] && echo gone; tr -d "\0" <&3 | wc -c' >"$work/out" 2>"$work/err"
is 'a file goes when its time is over, and its bytes with it, whoever has it open' 'gone 0' "$(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
replay --kind secret.expire >"$work/record"
check 'which is a record' grep -q '"name":"K","path":"/run/secrets/K"' "$work/record"
replay --kind secret.give >"$work/record"
check 'so is how it was given' grep -q '"name":"K","as":"file","path":"/run/secrets/K","mode":256,"as_user":"agent","ttl_ns":300000000' "$work/record"
! grep -rqF "$TOKEN" "$state"
ok $? 'no value is kept'

refused() {
	run --quiet --secret "$1" -- true >"$work/out" 2>"$work/log"
	[ $? -eq 125 ] && grep -qF -- "$2" "$work/log"
	ok $? "refused, with the reason: $3"
}
refused 'K=env:TOKEN,ttl=5m' 'cannot be taken back' 'a time for a variable'
refused 'K=env:TOKEN,only=/bin/sh' 'is inherited' 'one program for a variable'
refused 'K=env:TOKEN,as=file,path=/etc/k' 'below /run/secrets' 'a path elsewhere'
refused 'K=env:TOKEN,as=file,path=/run/secrets/../k' 'below /run/secrets' 'a path that leads out'
refused 'K=env:TOKEN,as=file,only=/no/such' 'only=/no/such' 'a program that is not there'
refused 'K=env:TOKEN,as=file,mode=0777' 'octal' 'a mode that makes no sense'
refused 'K=fd:99' 'no such descriptor' 'a descriptor that is not open'
refused 'K=env:NOT_SET' 'NOT_SET' 'a variable that is not set'

# Tags: equal under one key, and to be found again under the next.
first=$(replay --kind session.start | sed 's/.*"redact_key":"\([0-9a-f]*\)".*/\1/')
run --quiet --secret E=env:TOKEN -- sh -c 'echo "$E"' >/dev/null 2>"$work/log"
old=$(replay --kind output | sed 's/.*REDACTED:E:\([0-9a-f]*\)].*/\1/')
check 'the key of redaction can be replaced' "$bin/vitrine" redact rotate --state "$state"
run --quiet --secret E=env:TOKEN -- sh -c 'echo "$E"' >/dev/null 2>"$work/log"
new=$(replay --kind output | sed 's/.*REDACTED:E:\([0-9a-f]*\)].*/\1/')
second=$(replay --kind session.start | sed 's/.*"redact_key":"\([0-9a-f]*\)".*/\1/')
[ "$old" != "$new" ] && [ "$first" != "$second" ]
ok $? 'then tags are others, and the record names the key'
is 'who has the value and the keys finds it under each' "$second  $new $first  $old " "$(printf %s "$TOKEN" | "$bin/vitrine" redact tag --state "$state" | tr '\n' ' ')"

# What is printed: the command's own bytes, or with --redact-output what the record has.
cat >"$work/print.sh" <<'EOP'
echo "before $E after"
printf %s "$E" | cut -c1-9 | tr -d '\n'
sleep 0.4
printf '%s and the rest\n' "$(printf %s "$E" | cut -c10-)"
seq 1 20000
printf 'ends with %s' "$E" >&2
EOP
# shellcheck disable=SC2016
run --quiet --secret E=env:TOKEN -- sh -c "$(cat "$work/print.sh")" >"$work/out" 2>"$work/err"
E=$TOKEN sh -c "$(cat "$work/print.sh")" >"$work/plain" 2>"$work/plain-err"
cmp -s "$work/plain" "$work/out" && cmp -s "$work/plain-err" "$work/err"
ok $? 'output is byte for byte what the command wrote'
run --quiet --redact-output --secret E=env:TOKEN -- sh -c "$(cat "$work/print.sh")" >"$work/out" 2>"$work/err"
for stream in plain plain-err; do
	sed "s/$TOKEN/[REDACTED:E:$new]/" "$work/$stream" >"$work/want"
	cmp "$work/want" "$work/$([ $stream = plain ] && echo out || echo err)" >"$work/log" 2>&1
	ok $? "with --redact-output it is all there but the secret ($stream)"
done

done_testing
