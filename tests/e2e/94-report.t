#!/bin/sh
# The report in a browser: worked by keyboard, with hostile strings in it, and one of 100,000 records.
. "$(dirname "$0")/lib.sh"
need_root
command -v node >/dev/null || skip_all 'needs node'
command -v chromium >/dev/null || skip_all 'needs chromium'

make_workspace
cat >"$workspace/agent.sh" <<'AGENT'
cd /workspace
mkdir img
printf x >'<img src=x onerror=window.owned=1>'
printf x >'</script><script>window.owned=1<!--'
printf x >"$(printf 'evil \033]0;owned\007 \342\200\256 \342\201\246 name')"
printf x >"$(printf '%0200d' 7)"
printf '\033]0;owned\007\033[2J\033[3;5Hpicture</pre><script>window.owned=1</script>\n'
mount -t tmpfs x /mnt 2>/dev/null
curl -s -T /etc/hostname http://127.0.0.1:9/
sleep 0.2
printf '\033[31mlast words\033[0m\n'
exit 3
AGENT
chown 1000:1000 "$workspace/agent.sh"
run --quiet --name report --workspace "$workspace" -- sh /workspace/agent.sh >/dev/null 2>&1
"$bin/vitrine" report --state "$state" last -o "$work/report.html" 2>/dev/null
"$tests/write-journal" "$work/large" 0123456789ab 100000 >/dev/null
"$bin/vitrine" report --state "$work/large" 0123456789ab -o "$work/large.html" 2>/dev/null
node "$here/report.mjs" "$work/report.html" "$work/large.html" || failed=1
