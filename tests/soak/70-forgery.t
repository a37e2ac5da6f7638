#!/bin/sh
# A large signed record, bent in a few thousand ways: never intact. Takes minutes.
set -u
tests=${VITRINE_TESTS:?the directory of the built test programs}
echo 1..1
if ROUNDS=${ROUNDS:-3000} "$tests/unit/forgery" >/tmp/vitrine-forgery.$$ 2>&1; then
	echo 'ok 1 - no change passes for intact'
else
	sed 's/^/# /' /tmp/vitrine-forgery.$$
	echo 'not ok 1 - no change passes for intact'
fi
rm -f /tmp/vitrine-forgery.$$
