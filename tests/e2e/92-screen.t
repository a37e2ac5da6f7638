#!/bin/sh
# The full-screen replay, driven through a terminal by tmux: keys, filters, jumps, notes, other sizes, and a record full
# of escape sequences that must not do anything but stand there.
. "$(dirname "$0")/lib.sh"
need_root
command -v tmux >/dev/null || skip_all 'needs tmux'

make_workspace
cat >"$workspace/agent.sh" <<'AGENT'
cd /workspace
printf 'x' >"$(printf 'evil \033]0;owned\007 \033[2J\033[31m\r\n\342\200\256 name')"
printf '\033]0;owned\007\033[2J\033[5;5Hpicture\n'
mount -t tmpfs x /mnt 2>/dev/null
echo marker-file >marker.txt
sh -c 'exit 7'
sleep 0.3
echo last words
exit 3
AGENT
chown 1000:1000 "$workspace/agent.sh"
run --quiet --name screen --workspace "$workspace" -- sh /workspace/agent.sh >/dev/null 2>"$work/log"
is 'the session ran' 3 $?

tmux() {
	command tmux -S "$work/tmux" -f /dev/null "$@"
}

# start WIDTH HEIGHT ARGUMENTS...: the replay on a screen of its own.
start() {
	width=$1 height=$2
	shift 2
	rm -f "$work/status"
	tmux new-session -d -s screen -x "$width" -y "$height" \
		"LC_ALL=C.UTF-8 TERM=screen-256color '$bin/vitrine' replay -i --state '$state' $* 2>'$work/err'; echo \$? >'$work/status'"
	wait_for 'record 1 of\|too small'
}

screen() {
	tmux capture-pane -p -t screen >"$work/screen" 2>/dev/null
}

# wait_for PATTERN: until it is on the screen, 20 seconds at most.
wait_for() {
	for _ in $(seq 200); do
		screen
		grep -q -- "$1" "$work/screen" && return 0
		sleep 0.1
	done
	cp "$work/screen" "$work/log"
	return 1
}

keys() {
	tmux send-keys -t screen "$@"
}

# sees NAME PATTERN
sees() {
	if wait_for "$2"; then ok 0 "$1"; else ok 1 "$1 ($2)"; fi
}

quit() {
	keys q
	for _ in $(seq 100); do
		[ -s "$work/status" ] && break
		sleep 0.1
	done
	cat "$work/status" 2>/dev/null
}

start 120 40 screen
sees 'the list is there' 'session.start'
sees 'with lanes' '^ processes '
sees 'and values' 'kind  *session.start: a session began'
keys f; keys -l 'path:*marker* kind:file'; keys Enter
sees 'a filter is taken' 'filter: path:\*marker\* kind:file  [1-9]'
screen
is 'and hides the rest' 0 "$(grep -c 'session.start ' "$work/screen")"
keys F; keys g
sees 'and taken away' 'session.start '
keys f; keys -l 'path:('; keys Enter
sees 'a bad one is refused at its place' 'filter, character [0-9]'
keys g; keys d
sees 'to the next refusal' 'refused: mount.*\[T1611 Escape'
keys a
sees 'to the next technique' 'technique'
keys h
sees 'of a whole record there is no hole' 'no hole in the record'
keys g; keys /; keys -l 'last words'; keys Enter
sees 'a search finds a word in the output' 'stream  *stdout'
keys v
sees 'the terminal showed it' '^last words'
sees 'and what was put to its place' '^    picture'
keys i; keys g; keys f; keys -l 'argv:"exit 7"'; keys Enter
sees 'a program by its argument' "sh -c 'exit 7'"
keys Tab; keys End; keys g
for _ in 1 2 3 4; do keys Down; done
sees 'its values are shown' 'exit_code\|argv '
keys Escape; keys F; keys t
sees 'the process tree' '^ - 1'
sees 'with how they ended' "sh -c 'exit 7'  exit 7"
keys g; keys Left
sees 'folded' '^ + 1'
keys e; keys Down; keys Enter
sees 'from a process to its records' 'filter: proc:"'
keys F; keys g; keys m
sees 'a bookmark' 'BOOKMARK  *root, '
keys c; keys -l 'look here'; keys Enter
sees 'a note' 'NOTE  *root, .*: look here'
keys G; keys '"'
sees 'and back to it' 'record 1 of'
keys :; keys -l 300ms; keys Enter
wait_for ' 0\.[3-9]\|record [1-9][0-9]'
ok $? 'to a time'
keys g; for _ in 1 2 3; do keys +; done; keys Space
sees 'played to its end' 'the end'
keys '?'
sees 'the help is made of the keys' 'bookmark, or take it back'
keys q
tmux resize-window -t screen -x 60 -y 12
sees 'a small window' 'session'
tmux resize-window -t screen -x 20 -y 3
sees 'one that is too small' 'too small'
tmux resize-window -t screen -x 170 -y 50
sees 'and a large one' '── values'
keys g; keys f; keys -l 'path~evil'; keys Enter
sees 'a hostile name stands there escaped' 'x1b\]0;owned'
is 'and did not name the window' 0 "$(tmux display-message -p -t screen '#{pane_title}' | grep -c owned)"
keys v
sees 'nor does the picture of the terminal' 'terminal'
is 'name the window' 0 "$(tmux display-message -p -t screen '#{pane_title}' | grep -c owned)"
is 'it ends' 0 "$(quit)"
is 'without a word' '' "$(cat "$work/err")"
is 'notes are told by the command, too' 'look here' "$("$bin/vitrine" note --state "$state" screen | sed -n 's/.*record 1 .*  //p' | tail -1)"
"$bin/vitrine" verify --state "$state" screen >"$work/log" 2>&1
is 'and are no part of the evidence' 0 $?

"$bin/vitrine" bundle --state "$state" screen -o "$work/b.tar" >"$work/log" 2>&1
tmux kill-server 2>/dev/null
start 100 30 "$work/b.tar" --filter kind:exec
sees 'a bundle is shown, with a filter' 'filter: kind:exec  [1-9]'
tmux send-keys -t screen C-c
for _ in $(seq 100); do [ -s "$work/status" ] && break; sleep 0.1; done
is 'an interrupt ends it' 0 "$(cat "$work/status")"
is 'and leaves nothing behind' '' "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'vitrine-??????' -newer "$work/b.tar" -user root 2>/dev/null)"
tmux kill-server 2>/dev/null
"$bin/vitrine" replay -i --state "$state" screen </dev/null >"$work/out" 2>"$work/log"
is 'without a terminal it is refused' 2 $?
done_testing
