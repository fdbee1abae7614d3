#!/bin/sh
# Build dumbbell against the packaged ns-3:  build.sh [OUTPUT]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-"$here/dumbbell"}
# The libraries are named directly: the pkg-config files also ask for GSL.
exec g++ -O3 -std=c++17 -o "$out" "$here/dumbbell.cc" \
    -lns3-point-to-point -lns3-applications -lns3-traffic-control \
    -lns3-internet -lns3-network -lns3-core
