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
for try in 1 2 3 4 5 6 7 8 9 10; do
	if getent hosts pages.demo.test && curl -sf -o page.txt http://pages.demo.test:8080/README.txt; then
		break
	fi
	sleep 0.2
done
kill "$pages" "$names"
cat page.txt
rm build/hello.o
echo done
