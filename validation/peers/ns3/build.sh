#!/bin/sh
# Build a program of this folder against the packaged ns-3:  build.sh [OUTPUT] [dumbbell|openloop]
# EARLYDROP=PREFIX: with earlydrop's queue disc, and the C library that crates/capi/install.sh put there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=${2:-dumbbell}
out=${1:-"$here/$program"}
set -- "$here/$program.cc"
if [ -n "${EARLYDROP:-}" ]; then
    set -- "$@" "$here/earlydrop-queue-disc.cc" "-I$EARLYDROP/include" "-L$EARLYDROP/lib" "-Wl,-rpath,$EARLYDROP/lib" \
        -learlydrop
fi
# The libraries are named directly: the pkg-config files also ask for GSL.
exec g++ -O"${OPTIMISE:-3}" -std=c++17 -o "$out" "$@" \
    -lns3-point-to-point -lns3-applications -lns3-traffic-control \
    -lns3-internet -lns3-network -lns3-core
