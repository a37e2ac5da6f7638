#!/bin/sh
# A session with a terminal: size, resize, controlling terminal, byte-exact recording.
. "$(dirname "$0")/lib.sh"
need_root

cat >"$work/terminal.py" <<-'PYTHON'
	import fcntl, os, pty, select, struct, sys, termios, time

	def size(fd, rows, columns):
	    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

	pid, master = pty.fork()
	if pid == 0:
	    size(0, 40, 120)
	    os.execv(sys.argv[1], sys.argv[1:])
	seen, resized, typed = b"", False, False
	end = time.time() + 30
	while time.time() < end:
	    ready, _, _ = select.select([master], [], [], 0.2)
	    if ready:
	        try:
	            piece = os.read(master, 65536)
	        except OSError:
	            break
	        if not piece:
	            break
	        seen += piece
	    if b"READY" in seen and not resized:
	        size(master, 20, 90)
	        resized = True
	    if b"RESIZED" in seen and not typed:
	        os.write(master, b"hello\r")
	        typed = True
	else:
	    os.kill(pid, 9)
	os.write(1, seen)
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
cat >"$work/inside.sh" <<-'SH'
	stty size
	tty
	trap 'stty size; echo RESIZED; resized=1' WINCH
	echo READY
	until [ "$resized" ]; do sleep 0.1; done
	read -r line
	echo "read $line"
	exit 9
SH
mkdir "$work/workspace"
cp "$work/inside.sh" "$work/workspace"
chown -R 1000:1000 "$work/workspace"
python3 "$work/terminal.py" "$bin/vitrine" run --quiet --tty --state "$state" --workspace "$work/workspace" -- bash inside.sh >"$work/seen" 2>"$work/log"
is 'exit status through a terminal' 9 $?
cp "$work/seen" "$work/log"
check 'size as the caller has it' grep -q '40 120' "$work/seen"
check 'resize arrives' grep -q '20 90' "$work/seen"
check 'the terminal is one of the session' grep -q '/dev/pts/' "$work/seen"
check 'input arrives' grep -q 'read hello' "$work/seen"
"$bin/vitrine" replay --state "$state" --raw-output last >"$work/again" 2>"$work/log"
check 'the record has what was seen' cmp "$work/seen" "$work/again"
replay --kind input | grep -q '"stream":"tty"'
ok $? 'and what was typed'
replay --kind exec.start | grep -q '"columns":120,"rows":40'
ok $? 'and the size at the start'

done_testing
