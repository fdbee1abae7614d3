#!/bin/sh
# Build a program of this folder against the packaged ns-3:  build.sh [OUTPUT] [dumbbell|openloop]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=${2:-dumbbell}
out=${1:-"$here/$program"}
# The libraries are named directly: the pkg-config files also ask for GSL.
exec g++ -O3 -std=c++17 -o "$out" "$here/$program.cc" \
    -lns3-point-to-point -lns3-applications -lns3-traffic-control \
    -lns3-internet -lns3-network -lns3-core
