#!/bin/sh
# A host whose /bin, /sbin and /lib are directories of their own and no links into /usr: sessions have them as they are there.
#
# Such a host is made of this one in a mount namespace, on a tmpfs: its directories bound read-only, its /tmp and /run empty.
# Nothing of it is bound below a directory that is cleaned up, here or in any other namespace.
if [ -z "${VITRINE_UNMERGED:-}" ] && [ "$(id -u)" -eq 0 ]; then
	# shellcheck disable=SC2016
	VITRINE_UNMERGED=1 exec unshare -m --propagation private sh -eu -c '
		mount -t tmpfs none /mnt
		cd /mnt
		mkdir tmp run root var home old
		chmod 1777 tmp
		for place in /usr /etc /bin /sbin /lib /lib32 /lib64 /libx32 "$VITRINE_BIN" "$VITRINE_TESTS" "$(dirname "$1")"; do
			[ -d "$place" ] && [ ! -e ".$place" ] || continue
			mkdir -p ".$place"
			mount --bind "$place" ".$place"
			mount -o remount,bind,ro ".$place"
		done
		for place in /proc /sys /dev; do
			mkdir ".$place"
			mount --rbind "$place" ".$place"
		done
		pivot_root . old
		umount -l old
		cd /
		exec sh "$1"' sh "$(realpath "$0")"
fi
. "$(dirname "$0")/lib.sh"
need_root

is 'the host has its programs at two places' 'directory directory' "$(stat -c %F /bin /lib | xargs)"
# shellcheck disable=SC2016
is 'and so has a session' 'directory directory /bin/sh' "$(run --quiet -- sh -c 'echo $(stat -c %F /bin /lib | xargs) $(PATH=/bin command -v sh)')"
is 'programs of either place run' 'uid=1000(agent) gid=1000(agent) groups=1000(agent)' "$(run --quiet -- /bin/id)"
is 'by the name that they are called by' /bin/true "$(run --quiet -- /bin/true && replay --kind process.exec | python3 -c '
import json, sys
print(json.loads(sys.stdin.readline())["exe"]["path"])')"
# shellcheck disable=SC2016
is 'neither can be written, by its root either' '' "$(run --quiet --user root -- sh -c 'for d in /bin /sbin /lib /usr/bin; do touch $d/x 2>/dev/null && echo $d; done')"
is 'set-user-id programs are none' 0 "$(run --quiet -- sh -c 'awk "\$5 ~ /^\\/(bin|sbin|lib|usr)\$/ && \$6 !~ /nosuid/" /proc/self/mountinfo | wc -l')"
check 'counts add up, nothing is lost' counts_add_up --lossless

done_testing
