#!/bin/sh
# Builds the image of the collector with the packed packages, starts it, sends an event, and stops it: sh scripts/try-image.sh FOLDER
set -eu
folder=$(cd "$1" && pwd)
dockerfile=$(git ls-files '*/deploy/Dockerfile')
name=trackpost-try-image
# npm installs the packages from this address during the build.
python3 -m http.server 8788 --bind 127.0.0.1 --directory "$folder" &
server=$!
trap 'kill $server; docker rm --force $name >/dev/null 2>&1 || true' EXIT
package=$(cd "$folder" && ls trackpost-collector-*.tgz)
cluster=$(cd "$folder" && ls trackpost-cluster-*.tgz)
docker build --network host --build-arg "COLLECTOR=http://127.0.0.1:8788/$package" \
  --build-arg "CLUSTER=http://127.0.0.1:8788/$cluster" --tag $name - <"$dockerfile"

docker run --detach --name $name --publish 127.0.0.1:8787:8787 --read-only --tmpfs /tmp --cap-drop ALL \
  --env TRACKPOST_COLLECTOR_ADMIN_TOKEN=a-token-for-tests $name
tries=0
until [ "$(docker inspect --format '{{.State.Health.Status}}' $name)" = healthy ]; do
  tries=$((tries + 1))
  [ $tries -lt 60 ] || { docker logs $name; exit 1; }
  sleep 1
done
curl --fail --silent --show-error --user a-write-key: --json '{ "userId": "ada", "event": "From outside" }' \
  http://127.0.0.1:8787/v1/track
curl --fail --silent --show-error --header 'Authorization: Bearer a-token-for-tests' \
  'http://127.0.0.1:8787/api/events' | grep --quiet 'From outside'
docker stop $name
[ "$(docker inspect --format '{{.State.ExitCode}}' $name)" = 0 ]
echo "$package: built, started, used and stopped"
