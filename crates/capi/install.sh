#!/bin/sh
# Installs headers, both libraries and the pkg-config file below a folder, /usr/local unless another is given:
#
#     cargo build --release -p earlydrop-capi && sh crates/capi/install.sh [PREFIX [FOLDER OF THE LIBRARIES]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${1:-/usr/local}
built=${2:-$here/../../target/release}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
case $(uname -s) in
Darwin) shared=libearlydrop.dylib ;;
*) shared=libearlydrop.so ;;
esac
for library in libearlydrop.a "$shared"; do
    [ -f "$built/$library" ] || { echo "install.sh: no $built/$library: cargo build --release -p earlydrop-capi" >&2; exit 1; }
done
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
prefix=$(cd "$prefix" && pwd)
cp "$here/include/earlydrop_queue.h" "$here/../aqm/include/earlydrop_aqm.h" "$prefix/include"
cp "$built/libearlydrop.a" "$built/$shared" "$prefix/lib"
sed "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" "$here/earlydrop.pc.in" > "$prefix/lib/pkgconfig/earlydrop.pc"
