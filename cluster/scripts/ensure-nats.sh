#!/bin/sh
# Some tests need a nats-server. As root on Debian, installs one if there is none. Always succeeds, so that the other tests run.
there() { [ -x "${NATS_SERVER:-$(command -v nats-server || echo /usr/sbin/nats-server)}" ]; }
there && exit 0
if [ -z "$NATS_SERVER" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nats-server
  there && exit 0
fi
echo 'No nats-server was found: the tests with the log will be SKIPPED. Set NATS_SERVER to one, or install it.' >&2
exit 0
