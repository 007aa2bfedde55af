#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build and run the stress under each checker, and each broken variant. Usage: matrix.sh SOURCE WORK
# [ROW...] SOURCE: a kernel with patches/6.12 applied; the test's own patches are applied to it and
# removed again.
# WORK: a folder for builds and consoles, reused. ROW: names of the table below, all without any.
# Environment: OPERATIONS (each thread, 500), SEEDS ("1"), JOBS. Prints a line for each row and
# seed; ends with 1 where a row is not what it has to be.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 work=$2
shift 2
mkdir -p "$work"
applied="" bad=0

# row | fragments besides base, zram-6.12 and direct | processors | count or parallel | patches |
# verdict
checks=small+debug-lockdep+debug-kasan
rows="checks-1 $checks 1 count - passes
checks-4 $checks 4 count - passes
plain-1 phone 1 count - passes
plain-4 phone 4 count - passes
delays-4 phone 4 count delays passes
parallel-4 phone 4 parallel delays passes
kcsan-4 small+debug-kcsan 4 count - passes
fork-no-reference phone 4 count delays+broken/fork-no-reference caught
freed-before-flush phone 4 parallel delays+broken/freed-before-flush caught
no-pin-during-copy phone 4 parallel delays+broken/no-pin-during-copy caught
writable-map phone 4 count delays+broken/writable-map caught
zero-asked-early phone 4 count delays+broken/zero-asked-early caught"

unpatch() {
	for patch in $applied; do
		patch -s -R -p1 -d "$source" <"$here/$patch.patch"
	done
	applied=""
}
trap unpatch EXIT
trap 'exit 1' INT TERM

build() { # FRAGMENTS PATCHES
	out=$work/$(echo "kernel $1 $2" | tr ' /' '__')
	for patch in $(echo "$2" | tr '+' ' ' | sed 's/^-$//'); do
		patch -s -p1 -d "$source" <"$here/$patch.patch"
		applied="$patch $applied"
	done
	# A kernel with other patches begins with the objects of the one without.
	plain=$work/$(echo "kernel $1 -" | tr ' /' '__')
	[ -d "$out" ] || [ ! -d "$plain" ] || cp -a "$plain" "$out"
	fragments=""
	for part in base zram-6.12 direct $(echo "$1" | tr '+' ' '); do
		fragments="$fragments $here/../config/$part.config"
	done
	# shellcheck disable=SC2086 # a list
	"$here/../build.sh" "$source" "$out" $fragments >"$out.txt" 2>&1 || { cat "$out.txt" >&2; exit 1; }
	unpatch
}

counted() { # CONSOLE NAME
	sed -n "s/.*\\b$2 \\([0-9]*\\).*/\\1/p" "$1" | tail -n 1
}

run() { # NAME PROCESSORS CLOCK SEED WANTED
	console=$work/$1-$4.txt verdict="passes, no complaint" parallel=""
	[ "$3" = count ] || parallel=1
	if CPUS=$2 PARALLEL=$parallel NVM_MIB=${NVM_MIB:-44} SECONDS_LIMIT=${SECONDS_LIMIT:-1800} "$here/run.sh" "$out" \
		"test=stress need_direct=1 swaplab.nvm_direct=1 operations=${OPERATIONS:-500} seed=$4" >"$console" 2>&1; then
		[ "$5" = passes ] || { verdict="NOT CAUGHT"; bad=1; }
	else
		verdict=$(grep -oE 'BAD [a-z_A-Z /]*|FAIL .*|(WARNING|BUG|KASAN|KCSAN|Unable to handle|Internal error|Kernel panic).*|Bad (page|rss).*|QEMU ended.*' "$console" |
			head -n 1 | cut -c 1-90)
		[ "$5" = caught ] || { verdict="FAILS: $verdict"; bad=1; }
	fi
	printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$3" "$4" "$(counted "$console" swap_direct_map)" \
		"$(counted "$console" swap_direct_copy)" "$(counted "$console" swap_direct_free)" "$verdict"
}

echo "linux $(make -s -C "$source" kernelversion), ${OPERATIONS:-500} operations each of 12 threads in 4 processes"
echo "| row | processors | clock | seed | maps | copies | slots freed | verdict |"
echo "|---|---|---|---|---|---|---|---|"
while read -r name fragments processors clock patches wanted; do
	[ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
	build "$fragments" "$patches"
	for seed in ${SEEDS:-1}; do
		run "$name" "$processors" "$clock" "$seed" "$wanted" </dev/null
	done
done <<END
$rows
END
exit $bad
