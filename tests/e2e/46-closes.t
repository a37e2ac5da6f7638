#!/bin/sh
# Bytes of a connection are exact at its close, also where the peer closes at the same moment: its FIN is no byte.
. "$(dirname "$0")/lib.sh"
need_root
make_workspace

connections=3000
run --quiet --workspace "$workspace" -- /workspace/acts closes=$connections >/dev/null 2>"$work/log"
is 'both ends of thousands of connections close at once' 0 $?
replay --kind net.close | python3 -c '
import collections, json, sys
ends = (json.loads(line) for line in sys.stdin)
counts = collections.Counter((e.get("bytes_sent"), e.get("bytes_received")) for e in ends if "dst" in e)
for (sent, received), count in sorted(counts.items()):
    print(f"{count} sent {sent}, received {received}")' >"$work/ends"
is 'and each end sent and received what it did' "$((2 * connections)) sent 10, received 10" "$(cat "$work/ends")"

done_testing
