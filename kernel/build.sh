#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Configure and build an arm64 kernel and the driver, by hand.
# Usage: build.sh SOURCE OUT FRAGMENT...   SOURCE: an unpacked kernel, OUT: a folder outside it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 out=$2
shift 2
export ARCH=arm64 CROSS_COMPILE=${CROSS_COMPILE:-aarch64-linux-gnu-}
export KBUILD_BUILD_TIMESTAMP='1970-01-01' KBUILD_BUILD_USER=swaplab KBUILD_BUILD_HOST=swaplab
mkdir -p "$out"
make -s -C "$source" O="$out" tinyconfig
"$source/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" "$@" >"$out/merge.log"
make -s -C "$source" O="$out" olddefconfig
# Print every option of the fragments that Kconfig did not set.
awk '/^CONFIG_[A-Z0-9_]*=y$/ { sub("=y", ""); wish[$0] = 1 }
	/^# CONFIG_[A-Z0-9_]* is not set$/ { delete wish[$2] }
	END { for (name in wish) print name "=y" }' "$@" | sort | while read -r wish; do
	grep -qx "$wish" "$out/.config" || echo "build.sh: not granted: $wish" >&2
done
make -C "$source" O="$out" -j"${JOBS:-2}" Image modules >"$out/build.log" 2>&1 ||
	{ tail -n 20 "$out/build.log" >&2; exit 1; }
mkdir -p "$out/swaplab"
cp "$here"/driver/*.[ch] "$here"/driver/Makefile "$out/swaplab/"
make -C "$out" M="$out/swaplab" modules >"$out/driver.log" 2>&1 || { cat "$out/driver.log" >&2; exit 1; }
if grep -qx CONFIG_NUMA=y "$out/.config"; then	# for the selftest's comparison with demotion
	mkdir -p "$out/slow_node"
	cp "$here"/selftest/slow_node/slow_node.c "$here"/selftest/slow_node/Makefile "$out/slow_node/"
	make -C "$out" M="$out/slow_node" modules >"$out/slow_node.log" 2>&1 || { cat "$out/slow_node.log" >&2; exit 1; }
fi
ls -l "$out/arch/arm64/boot/Image" "$out/swaplab/swaplab.ko"
