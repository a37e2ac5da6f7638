#!/bin/sh
# What the Makefile installs to build with stands in debian/control, too.
set -eu
cd "$(dirname "$0")/../.."
missing=$(sed -n 's/^DEPS [:+]= //p' Makefile | tr ' ' '\n' | grep -E -- '-dev$|^clang$|^bpftool$' | grep -v -E '^(libc6|libcmocka)-dev$' |
	while read -r package; do
		sed -n 's/^Build-Depends://p' debian/control | grep -qw -- "$package" || echo "$package"
	done)
[ -z "$missing" ] || {
	echo "debian/control: Build-Depends lacks" "$missing" >&2
	exit 1
}
