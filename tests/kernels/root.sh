#!/bin/sh
# root.sh OUT PATH...: a root image for guests (erofs) with what the host has of a few packages, the libraries of the
# programs below each PATH, and each PATH as /vitrine/<its last name>. The guest needs no network and nothing of the host.
set -eu
out=$1
shift
packages="base-files base-passwd bash coreutils dash grep sed mawk findutils util-linux mount procps login passwd tar gzip \
	python3 python3-minimal python3.11 python3.11-minimal libpython3-stdlib \
	libpython3.11-stdlib libpython3.11-minimal libffi8 busybox-static libc6 libc-bin"
stage=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$stage"' EXIT

# Merged /usr, as Debian 12 has it.
for name in bin sbin lib lib64; do
	mkdir -p "$stage/usr/$name"
	ln -s "usr/$name" "$stage/$name"
done
for package in $packages; do
	dpkg -L "$package" 2>/dev/null || :
done | sort -u >"$stage.files"
{
	cat "$stage.files"
	# The libraries of every program among them and of our own.
	{
		grep -E '^(/usr)?/s?bin/' "$stage.files"
		find "$@" -type f -perm -100
	} | xargs -r ldd 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*'
} | sort -u | while read -r file; do
	real=$(readlink -f "$file" 2>/dev/null) || continue
	for one in "$file" "$real"; do
		[ -d "$one" ] && [ ! -L "$one" ] || echo "$one"
	done
done | sort -u | grep -vE '/(doc|locale|man|info|lintian|bash-completion)/' >"$stage.list"
tar -C / --no-recursion -h -cf - --ignore-failed-read -T "$stage.list" 2>/dev/null | tar -C "$stage" -xf - --keep-directory-symlink
rm -f "$stage.list" "$stage.files"
mkdir -p "$stage/etc" "$stage/proc" "$stage/sys" "$stage/dev" "$stage/tmp" "$stage/run" "$stage/root" "$stage/var/lib" "$stage/home" "$stage/vitrine"
cp /etc/passwd /etc/group /etc/ld.so.cache /etc/nsswitch.conf "$stage/etc/"
[ ! -d /etc/ld.so.conf.d ] || cp -r /etc/ld.so.conf /etc/ld.so.conf.d "$stage/etc/"
for path in "$@"; do
	cp -r "$path" "$stage/vitrine/"
done
rm -f "$out"
mkfs.erofs --quiet -T0 "$out" "$stage" >/dev/null
