#!/bin/sh
# Installs Debian's Chromium for the test of the page, when it is missing.
set -e
[ -x /usr/bin/chromium ] && exit 0
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y chromium
