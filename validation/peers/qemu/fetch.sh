#!/bin/sh
# Fetches what machine.py puts into its virtual machine into a folder: Debian's kernel and a static busybox, unpacked.
# Nothing is installed. Needs apt-get of Debian or Ubuntu, and dpkg-deb.
#
#     fetch.sh DIR
set -eu

[ $# -eq 1 ] || { echo "usage: fetch.sh DIR" >&2; exit 2; }
mkdir -p "$1/debs" "$1/root"
cd "$1/debs"
# The generic image has all queue disciplines as modules; the meta package names the version.
kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
[ -n "$kernel" ] || { echo "fetch.sh: no kernel package here (linux-image-amd64); is this Debian, with apt-get update done?" >&2; exit 1; }
for package in "$kernel" busybox-static kmod; do
    ls "$package"_*.deb >/dev/null 2>&1 || apt-get download "$package"
    dpkg-deb -x "$(ls "$package"_*.deb | tail -n 1)" ../root
done
echo "$kernel"
