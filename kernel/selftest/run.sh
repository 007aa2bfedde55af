#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Run the selftest in a guest. Usage: run.sh OUT "OPTIONS"   OUT: a folder made by build.sh.
# Environment: MEMORY_MIB (guest, 256), NVM_MIB (128), FLASH_MIB (64), CPUS (1), PARALLEL=1 (QEMU's
# threads in parallel and no instruction count), NODES=2 (a second NUMA node), SECONDS_LIMIT (wall
# time, 600), QEMU_ARGS, PROGRAM (a static arm64 program for test=program).
# Prints the console. Exits with 0 only if the guest printed PASSED and the kernel reported no
# error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1 options=${2:-}
memory=${MEMORY_MIB:-256} nvm=${NVM_MIB:-128} flash=${FLASH_MIB:-64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CROSS_COMPILE:-aarch64-linux-gnu-}gcc -O2 -Wall -Wextra -static -pthread -o "$work/init" "$here"/*.c
cp "$out/swaplab/swaplab.ko" "$work/"
[ ! -f "$out/slow_node/slow_node.ko" ] || cp "$out/slow_node/slow_node.ko" "$work/"
cp "${PROGRAM:-/dev/null}" "$work/program"
chmod 755 "$work/program"
(cd "$work" && mkdir dev && touch -d @0 init program *.ko dev . &&
	printf '%s\n' . dev init program *.ko | cpio -o -H newc --quiet --reproducible >initramfs.cpio)
if [ "${PARALLEL:-}" ]; then
	clock="-accel tcg,thread=multi"
else
	clock="-accel tcg,thread=single -icount shift=0,sleep=off"
fi
nodes=""
# A second NUMA node, without a processor, whose memory begins where that of the devices does.
[ "${NODES:-1}" = 1 ] || nodes="-object memory-backend-ram,id=m0,size=${memory}M \
-object memory-backend-ram,id=m1,size=$((nvm + flash))M -numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,memdev=m1"
# shellcheck disable=SC2086 # the lists of arguments are split on purpose
timeout -k 5 "${SECONDS_LIMIT:-600}" nice -n 5 qemu-system-aarch64 -M virt -cpu "${CPU:-cortex-a57}" $clock \
	-rtc base=2026-01-01T00:00:00,clock=vm -seed 1 -smp "${CPUS:-1}" -m $((memory + nvm + flash))M \
	-nodefaults -display none -no-reboot -serial "file:$work/console" $nodes ${QEMU_ARGS:-} \
	-kernel "$out/arch/arm64/boot/Image" -initrd "$work/initramfs.cpio" \
	-append "console=ttyAMA0 norandmaps nokaslr quiet loglevel=5 panic=-1 mem=${memory}M \
swaplab.base_kib=$((0x40000000 / 1024 + memory * 1024)) swaplab.nvm_kib=$((nvm * 1024)) \
swaplab.flash_kib=$((flash * 1024)) $options" || echo "run.sh: QEMU ended with $?"
cat "$work/console"
# KCSAN reports races anywhere in Linux. Only those count of which one of both functions is of the
# series.
series='swap_direct|do_swap_page|do_wp_page|wp_page_copy|copy_present_pte|zap_present|unuse_|free_swap|swap_cache|reclaim_swap'
awk -v series="KCSAN: data-race in [^\n]*($series)" '/^=+\r?$/ { if (report !~ /KCSAN:/ || report ~ series) printf "%s", report; report = ""; next }
	{ report = report $0 "\n" }
	END { printf "%s", report }' "$work/console" >"$work/complaints"
if grep -qE 'WARNING|BUG|Oops|Call trace|possible (recursive|circular)|inconsistent lock|Bad (page|rss)|panic' "$work/complaints"; then
	echo "run.sh: the kernel complained"
	exit 1
fi
grep -q '^PASSED' "$work/console"
