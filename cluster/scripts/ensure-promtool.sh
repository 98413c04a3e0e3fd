#!/bin/sh
# Some tests of the alert rules need promtool. As root on Debian, takes it from the package `prometheus` if there is none,
# without installing the server and its service. Always succeeds, so that the other tests run.
there() { [ -x "${PROMTOOL:-$(command -v promtool || echo /usr/local/bin/promtool)}" ]; }
there && exit 0
if [ -z "$PROMTOOL" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  folder=$(mktemp -d)
  apt-get update && (cd "$folder" && apt-get download prometheus) &&
    dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar -x -O ./usr/bin/promtool >"$folder/promtool" &&
    install -m 755 "$folder/promtool" /usr/local/bin/promtool
  rm -rf "$folder"
  there && exit 0
fi
echo 'No promtool was found: the tests that need it will be SKIPPED. Set PROMTOOL to one, or install Prometheus.' >&2
exit 0
