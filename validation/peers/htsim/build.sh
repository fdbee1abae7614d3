#!/bin/sh
# Build bench.cpp against csg-htsim in a folder of yours:  build.sh FOLDER OUTPUT
#
# FOLDER is a checkout of https://github.com/Broadcom/csg-htsim. Nothing is fetched, and nothing is written there.
set -eu
if [ $# -ne 2 ]; then
    echo "usage: build.sh FOLDER OUTPUT" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
sim=$1/sim
if [ ! -f "$sim/eventlist.h" ]; then
    echo "build.sh: $1 is no checkout of csg-htsim (there is no sim/eventlist.h in it)" >&2
    exit 2
fi
set -- "$2"
sources=
for name in callback_pipe clock config eventlist fairpullqueue logfile loggers mtcp network pipe queue route sent_packets \
    switch tcp tcppacket trigger; do
    sources="$sources $sim/$name.cpp"
done
# shellcheck disable=SC2086  # a list of files
exec g++ -O3 -march=native -flto -DNDEBUG -std=c++17 -w -I"$sim" -o "$1" "$here/bench.cpp" $sources
