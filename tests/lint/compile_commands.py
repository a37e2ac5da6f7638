"""Reads what make would run (make -n -B V=1) and prints compile_commands.json."""
import json
import os
import shlex
import sys

entries = []
for line in sys.stdin:
    if " -c -o " not in line or "-target bpf" in line:
        continue
    words = shlex.split(line)
    # What is compiled for musl alone; the rest of that is compiled for glibc too.
    if "/small/" in words[words.index("-o") + 1] and "/musl/" not in words[-1]:
        continue
    entries.append({"directory": os.getcwd(), "arguments": words, "file": words[-1]})
json.dump(entries, sys.stdout, indent=1)
