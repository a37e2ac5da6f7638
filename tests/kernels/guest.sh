#!/bin/sh
# guest.sh CACHE SUITE ROOT_IMAGE SECONDS COMMAND: run a shell command as root in a guest with the suite's kernel.
# Exits with the command's status; 124 when the time is over; 125 when the guest died (its console's end is shown).
set -eu
cache=$(cd "$1" && pwd)
kernel=$cache/$2
image=$3
limit=$4
command=$5
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/vitrine-guest.XXXXXX)
trap 'rm -rf "$work"' EXIT

# The initramfs: busybox, the modules that the root needs, and the command. Not compressed: reading it is cheaper here.
mkdir -p "$work/i/bin" "$work/i/dev" "$work/i/proc" "$work/i/sys" "$work/i/modules" "$work/i/scratch" "$work/i/lower" "$work/i/newroot"
cp /bin/busybox "$work/i/bin/"
cp "$here/init" "$work/i/init"
chmod +x "$work/i/init"
for module in virtio_pci virtio_console virtio_blk virtio_rng overlay erofs ext4; do
	modprobe -d "$kernel/tree" -S "$(cat "$kernel/release")" --show-depends "$module" 2>/dev/null || :
done | awk '$1 == "insmod" && !seen[$2]++ {print $2}' | while read -r file; do
	name=$(basename "$file" | sed 's/\.\(xz\|zst\|gz\)$//')
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -dcq "$file" ;;
	*.gz) gzip -dc "$file" ;;
	*) cat "$file" ;;
	esac >"$work/i/modules/$name"
	echo "$name" >>"$work/i/modules/order"
done
touch "$work/i/modules/order"
# The command goes into the root through the overlay's upper layer.
sed -i 's|^\$b mount -t overlay|cp /command /scratch/upper/command\n&|; s|^cp /command|$b cp /command|' "$work/i/init"
printf 'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C\n%s\n' "$command" >"$work/i/command"
(cd "$work/i" && find . | cpio -o -H newc --quiet) >"$work/initrd"

# /tmp of the guest: a real disk, because a workspace needs a file system that can be idmapped.
truncate -s 1G "$work/disk"
mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=1 "$work/disk"

: >"$work/out"
: >"$work/status"
# No erms and fsrm: 'rep movsb' goes byte by byte under TCG. No avx: libc's SSE2 code is faster there.
timeout -k 5 "$limit" "$cache/qemu/run" -nodefaults -no-user-config -no-reboot -display none -M q35,hpet=off \
	-accel tcg,thread=multi -cpu max,-erms,-fsrm,-avx,-avx2 -smp 2 -m 2048 -kernel "$kernel/vmlinux" -initrd "$work/initrd" \
	-serial "file:$work/console" -device virtio-serial-pci \
	-chardev "file,id=o,path=$work/out" -device virtserialport,chardev=o,name=out \
	-chardev "file,id=s,path=$work/status" -device virtserialport,chardev=s,name=status -device virtio-rng-pci \
	-drive "if=none,id=root,file=$image,format=raw,readonly=on" -device virtio-blk-pci,drive=root \
	-drive "if=none,id=disk,file=$work/disk,format=raw,cache=unsafe" -device virtio-blk-pci,drive=disk \
	-append "console=ttyS0 quiet loglevel=4 panic=-1 oops=panic cgroup_no_v1=all tsc=reliable no5lvl mitigations=off" \
	</dev/null >"$work/qemu" 2>&1 &
qemu=$!
tail -n +1 -f --pid=$qemu -s 0.3 "$work/out" &
tail=$!
ended=0
wait $qemu || ended=$?
wait $tail || :
status=$(tr -dc 0-9 <"$work/status")
[ -z "$status" ] || exit "$status"
[ "$ended" -ne 124 ] || { echo "guest: not done after $limit s" >&2; exit 124; }
echo "guest: died; the end of its console:" >&2
tail -n 30 "$work/console" >&2
cat "$work/qemu" >&2
exit 125
