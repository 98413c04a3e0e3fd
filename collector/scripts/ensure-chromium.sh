#!/bin/sh
# Some tests need a Chromium. As root on Debian, installs one if there is none. Always succeeds, so that the other tests run.
cd "$(dirname "$0")" || exit 1
node find-browser.mjs >/dev/null && exit 0
if [ -z "$CHROME_PATH" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium
  node find-browser.mjs >/dev/null && exit 0
fi
echo 'No Chromium was found: the tests in a browser will be SKIPPED. Set CHROME_PATH to one, or install it.' >&2
exit 0
