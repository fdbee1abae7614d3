#!/bin/sh
# Makes a folder with a newer kernel of Debian (vmlinuz, lib/modules) and the sch_dualpi2 that Debian leaves out, compiled from
# the kernel's own source; kernel_dualpi2.py runs it. Needs a source list in apt's format with a suite that has the
# packages (trixie-backports), gcc, make, flex, bison, bc and libelf's and libssl's headers; ten minutes and 3 GB.
#
#     dualpi2_module.sh LIST DIR [VERSION]      VERSION: 7.2.12+deb13 by default
set -eu

[ $# -ge 2 ] || { echo "usage: dualpi2_module.sh LIST DIR [VERSION]" >&2; exit 2; }
list=$(realpath "$1") version=${3:-7.2.12+deb13}
release=$version-amd64
series=$(echo "$version" | cut -d. -f1,2)
mkdir -p "$2/lists/partial" "$2/cache/archives/partial" "$2/root" "$2/dualpi2"
cd "$2"
apt="-o Dir::Etc::sourcelist=$list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache"
# shellcheck disable=SC2086  # options
apt-get $apt update -qq
for package in "linux-binary-$release" "linux-modules-$release" "linux-headers-$release" "linux-source-$series" "linux-config-$series"; do
    # shellcheck disable=SC2086
    of=$(apt-cache $apt madison "$package" | awk -v v="${version%+*}" 'index($3, v) == 1 { print $3; exit }')
    # shellcheck disable=SC2086
    ls "$package"_*.deb >/dev/null 2>&1 || apt-get $apt download "$package=$of"
    dpkg-deb -x "$(ls "$package"_*.deb | tail -n 1)" root
done
tar xf "root/usr/src/linux-source-$series.tar.xz"
source=$PWD/linux-source-$series headers=root/usr/src/linux-headers-$release
xzcat "root/usr/src/linux-config-$series/config.amd64_none_amd64.xz" >"$source/.config"
# Without debugging information, whose BTF needs more tools.
"$source/scripts/config" --file "$source/.config" -m NET_SCH_DUALPI2 -d DEBUG_INFO_BTF -d DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT \
    -e DEBUG_INFO_NONE --set-str SYSTEM_TRUSTED_KEYS ""
make -C "$source" olddefconfig
make -C "$source" KERNELRELEASE="$release" modules_prepare
cp "$headers/Module.symvers" "$source/"
# Structures are laid out as the kernel's are, by its own configuration but for what its compiler can.
generated=include/generated/autoconf.h
{
    grep -vE "CONFIG_CC_|GCC_VERSION" "$headers/$generated"
    grep -E "CONFIG_CC_|GCC_VERSION|GCC_ASM_GOTO_OUTPUT_BROKEN" "$source/$generated"
} >autoconf.h
cp autoconf.h "$source/$generated"
cp "$source/net/sched/sch_dualpi2.c" dualpi2/
echo "obj-m := sch_dualpi2.o" >dualpi2/Makefile
make -C "$source" KERNELRELEASE="$release" M="$PWD/dualpi2" modules
