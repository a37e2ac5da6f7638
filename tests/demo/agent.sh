#!/bin/sh
# What the demo's agent does, inside the session.
set -e
cd /workspace
git clone -q origin.git build
make -s -C build
build/hello vitrine

python3 name_server.py &
names=$!
python3 -m http.server --bind 127.0.0.1 --directory build 8080 2>/dev/null &
pages=$!
until getent hosts pages.demo.test && curl -sf -o page.txt http://pages.demo.test:8080/README.txt; do
	sleep 0.2 # both servers are still starting
done
kill "$pages" "$names"
cat page.txt
rm build/hello.o
