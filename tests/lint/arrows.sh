#!/bin/sh
# Who may include whom. Draws every #include "..." of ours as an arrow between folders and fails on one that is not in
# the table below. Run from the top of the tree.
set -eu

allowed() {
	case $1 in
	"bpf bpf") ;;
	"supervisor/record supervisor/record") ;;
	# journal_append takes a redacted record and nothing else.
	"supervisor/record supervisor/redact") [ "$2" = supervisor/redact/redacted.h ] ;;
	"supervisor/redact supervisor/redact" | "supervisor/redact supervisor/record") ;;
	"supervisor/capture supervisor/capture" | "supervisor/capture supervisor/redact") ;;
	"supervisor/capture supervisor/record" | "supervisor/capture bpf") ;;
	# Who counts needs the cells; and of rules of redaction the names alone.
	"supervisor/metrics supervisor/metrics" | "supervisor/metrics supervisor/record") ;;
	"supervisor/metrics supervisor/redact") [ "$2" = supervisor/redact/detector.h ] ;;
	"supervisor/capture supervisor/metrics" | "exporters supervisor/metrics") ;;
	"exporters/sinks supervisor/metrics") [ "$2" = supervisor/metrics/listen.h ] ;;
	# The recorder and the names process speak the message format of the control protocol, and log as the daemon does.
	"supervisor/capture supervisor") [ "$2" = supervisor/control.h ] || [ "$2" = supervisor/log.h ] ;;
	# Of what a session was refused, and why, there is one table: that of the filter.
	"supervisor/capture supervisor/sandbox") [ "$2" = supervisor/sandbox/syscall_policy.h ] ;;
	"supervisor/sandbox supervisor/sandbox" | "supervisor/sandbox supervisor/record") ;;
	"supervisor supervisor"*) ;;
	"supervisor replay") [ "$2" = replay/commands.h ] ;;
	"replay replay" | "replay supervisor/record") ;;
	# What a SIEM returns is held against what the exporters would have sent.
	"replay exporters/project") [ "$2" = exporters/project/projection.h ] || [ "$2" = exporters/project/hide.h ] ;;
	"replay replay/screen" | "replay/screen replay" | "replay/screen replay/screen" | "replay/screen supervisor/record") ;;
	"replay replay/formats" | "replay/formats replay" | "replay/formats replay/formats" | "replay/formats supervisor/record") ;;
	"supervisor exporters") [ "$2" = exporters/commands.h ] ;;
	"exporters exporters" | "exporters exporters/project" | "exporters exporters/sinks") ;;
	"exporters/sinks exporters/sinks" | "exporters/sinks exporters/project") ;;
	"exporters/project exporters/project") ;;
	"exporters supervisor/record" | "exporters/"*" supervisor/record") ;;
	"dashboards dashboards" | "dashboards supervisor/record") ;;
	*) return 1 ;;
	esac
}

bad=0
for file in $(git ls-files 'bpf/*.[ch]' 'bpf/*.def' 'supervisor/*.[ch]' 'supervisor/*.def' 'replay/*.[ch]' 'exporters/*.[ch]'); do
	[ -f "$file" ] || continue
	from=$(dirname "$file")
	for target in $(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file"); do
		if [ -f "$from/$target" ]; then
			path=$(realpath --relative-to=. "$from/$target")
		elif [ -f "$target" ]; then
			path=$target
		else
			continue # generated: the skeleton
		fi
		if ! allowed "$from $(dirname "$path")" "$path"; then
			echo "$file: includes $path: that arrow points the wrong way" >&2
			bad=1
		fi
	done
done
exit $bad
