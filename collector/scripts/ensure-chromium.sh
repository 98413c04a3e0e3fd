#!/bin/sh
# Sees to a Chromium for the tests that need one. One that is there is used; on Debian, root gets one installed.
# Without one those tests are skipped, and that is said here: never a reason for the other tests not to run.
cd "$(dirname "$0")" || exit 1
node find-browser.mjs >/dev/null && exit 0
if [ -z "$CHROME_PATH" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium
  node find-browser.mjs >/dev/null && exit 0
fi
echo 'No Chromium was found: the tests in a browser will be SKIPPED. Set CHROME_PATH to one, or install it.' >&2
exit 0
