#!/bin/sh
# Record and truth agree, both ways: processes, files, sockets, DNS.
. "$(dirname "$0")/lib.sh"
need_root
make_workspace

# acts USER GROUP KINDS
acts() {
	run --quiet --user "$1" --workspace "$workspace" -- /workspace/acts "$2" >"$work/truth" 2>"$work/stderr"
	status=$?
	replay >"$work/record" 2>>"$work/stderr"
	cp "$work/stderr" "$work/log"
	ok $status "acts $2 as $1 ran"
	check "acts $2 as $1: nothing missing, nothing extra, every field right" \
		python3 "$here/compare.py" "$work/truth" "$work/record" "$3"
	check "acts $2 as $1: counts add up, nothing lost" counts_add_up --lossless
}

chown 1000:1000 "$workspace"
acts agent exec 'process.exec,process.exec_failed,process.exit'
acts agent files 'file.*'
acts agent methods 'file.*'
acts agent names 'file.*'
acts agent net 'net.*'
acts agent unix 'net.unix'
acts agent dns 'dns.*'
acts root cred 'process.cred'
acts agent entry 'file.*'
acts root entry 'file.*'

done_testing
