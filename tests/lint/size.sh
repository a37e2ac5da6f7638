#!/bin/sh
# A file has 600 lines at most.
set -eu
git ls-files 'bpf/*.[ch]' 'supervisor/*.[ch]' 'replay/*.[ch]' 'exporters/*.[ch]' 'tests/*.[ch]' |
	xargs wc -l | awk '$2 != "total" && $1 > 600 {print $2 ": " $1 " lines, 600 at most"; bad = 1} END {exit bad}'
