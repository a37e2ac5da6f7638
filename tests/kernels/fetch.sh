#!/bin/sh
# fetch.sh CACHE SUITE: bring the newest cloud kernel of a Debian suite to CACHE/SUITE (vmlinux, release, modules/), and
# QEMU 10 to CACHE/qemu. Packages are unpacked, never installed. Prints what it got; keeps what is there already.
#
# QEMU is the one of bookworm-backports: 7.2 computes wrong flags after cmpxchg16b under TCG, and guests crash at random.
set -eu
cache=$(mkdir -p "$1" && cd "$1" && pwd)
suite=$2
here=$(cd "$(dirname "$0")" && pwd)
. "$here/apt.sh"

fetch_qemu() {
	[ ! -x "$cache/qemu/run" ] || return 0
	suite bookworm-backports get update
	rm -rf "$cache/qemu.new"
	mkdir "$cache/qemu.new"
	(cd "$cache/qemu.new" && suite bookworm-backports get download qemu-system-x86 qemu-system-data)
	for deb in "$cache"/qemu.new/*.deb; do
		dpkg -x "$deb" "$cache/qemu.new"
		rm "$deb"
	done
	cat >"$cache/qemu.new/run" <<-RUN
		#!/bin/sh
		exec $cache/qemu/usr/bin/qemu-system-x86_64 -L $cache/qemu/usr/share/qemu -L /usr/share/seabios "\$@"
	RUN
	chmod +x "$cache/qemu.new/run"
	rm -rf "$cache/qemu"
	mv "$cache/qemu.new" "$cache/qemu"
}

fetch_kernel() {
	suite "$suite" get update
	package=$(suite "$suite" cache show --no-all-versions linux-image-cloud-amd64 |
		sed -n 's/^Depends:.*\(linux-image-[0-9][^ ,]*\).*/\1/p')
	[ -n "$package" ] || { echo "fetch.sh: $suite has no linux-image-cloud-amd64" >&2; exit 1; }
	[ "$(cat "$cache/$suite/package" 2>/dev/null)" != "$package" ] || return 0
	new=$cache/$suite.new
	rm -rf "$new"
	mkdir -p "$new/root"
	(cd "$new" && suite "$suite" get download "$package")
	for deb in "$new"/*.deb; do
		dpkg -x "$deb" "$new/root"
		rm "$deb"
	done
	modules=$new/root/lib/modules
	[ -d "$modules" ] || modules=$new/root/usr/lib/modules
	release=$(ls "$modules")
	python3 "$here/vmlinux.py" "$new/root/boot/vmlinuz-$release" "$new/vmlinux"
	echo "$release" >"$new/release"
	mkdir -p "$new/tree/lib/modules"
	mv "$modules/$release" "$new/tree/lib/modules/"
	depmod -b "$new/tree" "$release"
	rm -rf "$new/root"
	echo "$package" >"$new/package"
	rm -rf "$cache/${suite:?}"
	mv "$new" "$cache/$suite"
}

fetch_qemu
fetch_kernel
echo "kernel: $suite: $(cat "$cache/$suite/package"), $("$cache/qemu/run" --version | head -n 1)"
