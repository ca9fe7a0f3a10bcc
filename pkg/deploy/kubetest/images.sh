#!/bin/sh
# images.sh OUT: writes the images of the tests as archives into OUT: our tools, the
# emulated components (one image, whose programs have the names of the real ones),
# Redis from this machine's files, pause. None of them is pulled from anywhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:?folder for the archives}")
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0
(cd "$here/../../.." && go build -ldflags '-s -w' -o "$work/" ./cmd/bg-deploy ./cmd/bg-load ./cmd/bg-scrape)
(cd "$here" && go build -ldflags '-s -w' -o "$work/" ./image ./pause)
image() { "$work/image" "$@"; }
tools="bg-deploy=$work/bg-deploy bg-load=$work/bg-load bg-scrape=$work/bg-scrape vllm->/bg-deploy"
# shellcheck disable=SC2086 # words are meant
image "$out/bgbench.tar" registry.local/bgbench:test $tools
# shellcheck disable=SC2086
image -entrypoint /bg-deploy,serve,vllm "$out/inference-sim.tar" registry.local/inference-sim:test $tools
image -entrypoint /pause "$out/pause.tar" registry.local/pause:1 "pause=$work/pause"

# Redis with the libraries that it is linked to.
redis=$(command -v redis-server)
mkdir -p "$work/redis/usr/bin"
cp -L "$redis" "$work/redis/usr/bin/redis-server"
ldd "$redis" | grep -o '/[^ )]*' | while read -r library; do
	mkdir -p "$work/redis$(dirname "$library")"
	cp -L "$library" "$work/redis$library"
done
image "$out/redis.tar" registry.local/redis:test "/=$work/redis"
# Nothing that is emulated asks PostgreSQL: a server that takes connections on its port
# stands for it.
image -entrypoint redis-server,--port,5432,--bind,0.0.0.0,--protected-mode,no,--save, "$out/postgresql.tar" registry.local/postgresql:test "/=$work/redis"
