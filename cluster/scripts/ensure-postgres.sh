#!/bin/sh
# Some tests need PostgreSQL. As root on Debian, installs it if there is none. Always succeeds, so that the other tests run.
cd "$(dirname "$0")" || exit 1
node find-postgres.mjs >/dev/null && exit 0
if [ -z "$POSTGRES_BIN" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql
  node find-postgres.mjs >/dev/null && exit 0
fi
echo 'No PostgreSQL 14 or later was found: the tests on it will be SKIPPED. Set POSTGRES_BIN to the folder of its programs, or install it.' >&2
exit 0
