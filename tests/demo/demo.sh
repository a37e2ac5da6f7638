#!/bin/sh
# A recorded session that does real work, then its timeline and its summary. Run by `make demo`, as root.
set -eu
bin=${1:?usage: demo.sh BIN_DIRECTORY}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/vitrine-demo.XXXXXX)
trap 'rm -rf "$work"' EXIT

# A repository on disk for the agent to clone, and a place for it to work in.
mkdir "$work/workspace" "$work/source"
cp "$here"/program/* "$work/source/"
(
	cd "$work/source"
	git init -q -b main
	git add .
	git -c user.name=demo -c user.email=demo@localhost commit -q -m 'a small program'
)
git clone -q --bare "$work/source" "$work/workspace/origin.git"
cp "$here/agent.sh" "$here/name_server.py" "$work/workspace/"
chown -R 1000:1000 "$work/workspace"
chmod 755 "$work"

echo '--- the session ---------------------------------------------------------------------------'
"$bin/vitrine" run --name demo --state "$work/state" --workspace "$work/workspace" -- sh agent.sh
echo
echo '--- its timeline --------------------------------------------------------------------------'
"$bin/vitrine" replay --state "$work/state" last
echo
echo '--- its summary ---------------------------------------------------------------------------'
"$bin/vitrine" show --state "$work/state" last
