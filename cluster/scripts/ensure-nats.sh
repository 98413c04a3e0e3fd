#!/bin/sh
# Some tests need a nats-server, of the version that src/stream/version.ts asks for. As root on Debian, takes it from the package of
# Debian 13 if there is none, since the one of Debian 12 is too old. Always succeeds, so that the other tests run.
oldest=$(sed -n "s/^export const OLDEST_SERVER = '\(.*\)'/\1/p" "$(dirname "$0")/../src/stream/version.ts")
there() {
  program=${NATS_SERVER:-$(command -v nats-server || echo /usr/local/sbin/nats-server)}
  [ -x "$program" ] || return 1
  version=$("$program" --version | sed 's/.*v//')
  [ "$(printf '%s\n' "$oldest" "$version" | sort -V | head -n 1)" = "$oldest" ]
}
there && exit 0
keys=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -z "$NATS_SERVER" ] && [ "$(id -u)" = 0 ] && [ -e "$keys" ]; then
  folder=$(mktemp -d)
  mkdir "$folder/lists" "$folder/cache"
  echo "deb [signed-by=$keys] http://deb.debian.org/debian trixie main" >"$folder/sources"
  debian13() {
    apt-get -o Dir::Etc::SourceList="$folder/sources" -o Dir::Etc::SourceParts=/dev/null \
      -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" "$@"
  }
  debian13 update && (cd "$folder" && debian13 download nats-server/trixie) &&
    dpkg-deb --fsys-tarfile "$folder"/nats-server_*.deb | tar -x -O ./usr/sbin/nats-server >"$folder/nats-server" &&
    install -D -m 755 "$folder/nats-server" /usr/local/sbin/nats-server
  rm -rf "$folder"
  there && exit 0
fi
echo "No nats-server $oldest or later was found: the tests with the log will be SKIPPED. Set NATS_SERVER to one, or install it." >&2
exit 0
