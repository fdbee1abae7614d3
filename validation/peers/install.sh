#!/bin/sh
# Install the programs beside earlydrop that some tests, `earlydrop bench --against` and the scripts in this
# folder run, from the packages of Debian or Ubuntu. Earlydrop itself needs none of them.
#
#     install.sh [--dry-run] [ns2|ns3|g++|c|chromium|node|iperf3|qemu|tshark|flent]...   all of them when none is named
set -eu

dry_run=
chosen=
for word in "$@"; do
    case "$word" in
        --dry-run) dry_run=yes ;;
        ns2 | ns3 | g++ | c | chromium | node | iperf3 | qemu | tshark | flent) chosen="$chosen $word " ;;
        *) echo "usage: install.sh [--dry-run] [ns2|ns3|g++|c|chromium|node|iperf3|qemu|tshark|flent]..." >&2; exit 2 ;;
    esac
done

missing=
need() { # NAME PACKAGE WHY TEST...
    name=$1 package=$2 why=$3
    shift 3
    case "${chosen:- $name }" in
        *" $name "*) ;;
        *) return 0 ;;
    esac
    if "$@" >/dev/null 2>&1; then
        echo "have     $package"
    else
        echo "missing  $package: $why"
        missing="$missing $package"
    fi
}

need ns2 ns2 "bench --against ns2 and its test, run_s1.py, make_traces.py" command -v ns
need ns3 libns3-dev "bench --against ns3 and its test" test -e /usr/include/ns3/core-module.h -o -e /usr/include/ns3.37/ns3/core-module.h
need ns3 ns3 "bench --against ns3" dpkg -s ns3
need g++ g++ "builds the ns-3 program and the trace reader" command -v g++
need c valgrind "tests of the C library" command -v valgrind
need c pkg-config "tests of the C library" command -v pkg-config
need iperf3 iperf3 "real traffic: tests of earlydrop link, crosscheck, benches/link.py" command -v iperf3
need qemu qemu-system-x86 "validation/renew.sh qdiscs: a Debian kernel's queue disciplines" command -v qemu-system-x86_64
need qemu cpio "validation/renew.sh qdiscs" command -v cpio
need qemu kmod "validation/renew.sh qdiscs" command -v depmod
need tshark tshark "tests of packet captures" command -v tshark
need flent flent "tests of Flent's data files" command -v flent
need flent python3-matplotlib "draws Flent's plots in its tests" dpkg -s python3-matplotlib
need chromium chromium "tests of the report's page; renders reports to pictures" command -v chromium
need node nodejs "make test-web: the engine in WebAssembly" command -v node

if [ -z "$missing" ]; then
    echo "nothing to install"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "install.sh: no apt-get here; install these yourself:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install.sh: run as root, or install sudo" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "running  apt-get update; apt-get install --no-install-recommends$missing"
[ -n "$dry_run" ] && exit 0
$as_root apt-get update
# shellcheck disable=SC2086  # a list of package names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
