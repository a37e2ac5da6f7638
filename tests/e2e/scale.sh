# What grows and what may not: snapshots of a daemon and of the host, for 52-scale.t and soak/21-scale.t.
# shellcheck shell=sh disable=SC2154,SC2034

socket=$work/socket

# start_daemon OPTION...
start_daemon() {
	: >"$work/daemon.log"
	"$bin/vitrined" --state "$state" --socket "$socket" --ring-bytes 4194304 "$@" 2>"$work/daemon.log" &
	daemon=$!
	until [ -S "$socket" ]; do
		kill -0 "$daemon" 2>/dev/null || return 1
		sleep 0.1
	done
	recorder=$(pgrep -P "$daemon" -f vitrine-recorder)
	resolver=$(pgrep -P "$daemon" -f vitrine-names)
	launcher=$(pgrep -P "$daemon" -f vitrine-launcher)
}

stop_daemon() {
	kill "$daemon"
	wait "$daemon"
}

descriptors() {
	ls "/proc/$1/fd" | wc -l
}

rings() {
	find "/proc/$daemon/fd" -lname '*bpf-map*' | wc -l
}

# Of rings without a session four to eight are kept: how many there are says how many sessions there were at once.
has_few_rings() {
	[ "$(rings)" -le $(($1 + 4)) ]
}

# Kilobytes of memory that are a process's own.
private_kb() {
	awk '/^Private/ {kb += $2} END {print kb + 0}' "/proc/$1/smaps_rollup" 2>/dev/null || echo 0
}

# What the daemon's programs hold, and what there is of sessions on the host: one "name number" a line.
snapshot() {
	for p in daemon recorder resolver launcher; do
		eval "pid=\$$p"
		echo "$p.fds $(($(descriptors "$pid") - $(daemon=$pid rings)))"
		echo "$p.threads $(ls "/proc/$pid/task" | wc -l)"
		echo "$p.mounts $(wc -l <"/proc/$pid/mountinfo")"
	done
	echo "processes $(pgrep -P "$daemon" | wc -l)"
	echo "inits $(pgrep -P "$launcher" | wc -l)"
	echo "cgroups $(ls -d "$cgroups"/*/ 2>/dev/null | while read -r dir; do flock -n "$dir" true 2>/dev/null || echo held; done | wc -l)"
	echo "loops $(losetup -a 2>/dev/null | wc -l)"
	echo "pins $(find /sys/fs/bpf -mindepth 1 2>/dev/null | wc -l)"
	echo "slots $(grep -c ":$(stat -c %i /run/vitrine/slots) " /proc/locks)"
}

cgroups=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)/vitrine

# settled WANT COMMAND...: the command prints WANT within half a minute.
settled() {
	want=$1
	shift
	tries=0
	until [ "$("$@")" = "$want" ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { echo "want: $want"; echo "have: $("$@")"; return 1; }
		sleep 0.1
	done
}

# What the daemon's own is, once it has not changed for two seconds: sensors stay attached for a second after a session.
own_settled() {
	now=$(own)
	same=0
	while [ $same -lt 20 ]; do
		sleep 0.1
		before=$now
		now=$(own)
		if [ "$now" = "$before" ]; then same=$((same + 1)); else same=0; fi
	done
	echo "$now"
}

# in_a_row N: so many sessions, one after another.
in_a_row() {
	i=0
	while [ $i -lt "$1" ]; do
		"$bin/vitrine" run --quiet --socket "$socket" -- /bin/true </dev/null >/dev/null || return 1
		i=$((i + 1))
	done
}

ended() {
	grep -c ': ended: exit$' "$work/daemon.log"
}

# Slots and cgroups of other daemons of the host come and go; what is this daemon's own does not.
own() {
	snapshot | grep -v -e '^cgroups' -e '^slots' -e '^loops' -e '^pins' | tr '\n' ' '
}
