#!/bin/sh
# Builds the image of the cluster with the packed packages, starts a front, and stops it: sh scripts/try-image.sh FOLDER
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
  $name front --log nats://127.0.0.1:4222
curl --fail --silent --show-error --retry 60 --retry-delay 1 --retry-all-errors http://127.0.0.1:8787/healthz
# There is no stream: the front says so.
curl --silent http://127.0.0.1:8787/readyz | grep --quiet not_ready
docker stop $name
[ "$(docker inspect --format '{{.State.ExitCode}}' $name)" = 0 ]
echo "$cluster: built, started, used and stopped"
