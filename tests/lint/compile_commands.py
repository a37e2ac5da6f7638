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
    entries.append({"directory": os.getcwd(), "arguments": words, "file": words[-1]})
json.dump(entries, sys.stdout, indent=1)
