#!/bin/sh
# Functions that we do not call: each has a better one. Run from the top of the tree.
set -eu
words='strcpy|strcat|sprintf|vsprintf|strtok|strtol|strtoul|atoi|atol|sscanf|gmtime|localtime|system|popen|tmpnam|mktemp'
if git grep -nE "(^|[^A-Za-z0-9_>.])($words)[[:space:]]*\(" -- 'supervisor/*.[ch]' 'exporters/*.[ch]' 'replay/*.[ch]' 'bpf/*.[ch]'; then
	echo 'banned: see CONTRIBUTING.md for what to use instead' >&2
	exit 1
fi
if git grep -nE 'KERNEL_VERSION|LINUX_VERSION|utsname.*release.*[<>]' -- 'supervisor/*.[ch]' 'bpf/*.[ch]'; then
	echo 'a version is never asked for: probe' >&2
	exit 1
fi
