#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Build and run the stress under each checker, and each broken variant. Usage: matrix.sh SOURCE WORK
# [ROW...] SOURCE: a kernel with patches/6.12 applied; the test's own patches are applied to it and
# removed again.
# WORK: a folder for builds and consoles, reused. ROW: names of the table below, all without any.
# Environment: SEEDS ("1"), OPTIONS (of the stress, added to a row's), JOBS, SECONDS_LIMIT (1800).
# Prints a line for each row and seed; ends with 1 where a row is not what it has to be.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 work=$2
shift 2
mkdir -p "$work"
applied="" bad=0

# Sizes of the stress: NVM in MiB, and options. The NVM nearly fills, so that slots are used again
# at once. Under a checker a guest is slower by an order of magnitude, so it gets less to do. Two
# defects have sizes of their own: one makes each unmap slow, the other needs zero-filled pages.
full_nvm=44 full_options="operations=500"
tight_nvm=20 tight_options="limit_mb=64 operations=200"
drop_nvm=20 drop_options="limit_mb=64 operations=60 swapoffs=0"
zeros_nvm=20 zeros_options="limit_mb=64 operations=200 swapoffs=0 zeros=1"
brief_nvm=14 brief_options="mb=6 limit_mb=14 operations=150 swapoff_after=500"
single_nvm=14 single_options="mb=6 limit_mb=14 operations=300 swapoff_after=500"

# row | fragments besides base, zram-6.12, direct and small | processors | count or parallel |
# patches | verdict | size
checks=debug-lockdep+debug-kasan
rows="plain-1 phone 1 count - passes full
plain-4 phone 4 count - passes full
parallel-4 phone 4 parallel - passes full
delays-4 phone 4 count delays passes full
delays-parallel-4 phone 4 parallel delays passes full
checks-1 $checks 1 count - passes single
checks-4 $checks 4 count - passes brief
kcsan-4 debug-kcsan 4 parallel - passes brief
fork-no-reference phone 4 count delays+broken/fork-no-reference caught full
freed-before-flush phone 4 count delays+broken/freed-before-flush caught drop
no-pin-during-copy phone 4 count delays+broken/no-pin-during-copy caught tight
writable-map phone 4 count delays+broken/writable-map caught full
zero-asked-early phone 4 count delays+broken/zero-asked-early caught zeros"

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
	for part in base zram-6.12 direct small $(echo "$1" | tr '+' ' '); do
		fragments="$fragments $here/../config/$part.config"
	done
	# shellcheck disable=SC2086 # a list
	"$here/../build.sh" "$source" "$out" $fragments >"$out.txt" 2>&1 || { cat "$out.txt" >&2; exit 1; }
	unpatch
}

counted() { # CONSOLE NAME
	sed -n "s/.*\\b$2 \\([0-9]*\\).*/\\1/p" "$1" | tail -n 1
}

run() { # NAME PROCESSORS CLOCK SEED WANTED SIZE
	console=$work/$1-$4.txt verdict="passes, no complaint" parallel=""
	[ "$3" = count ] || parallel=1
	eval "nvm=\$$6_nvm options=\$$6_options"
	# What is caught ends its guest, because much of what follows hangs.
	[ "$5" = passes ] || options="$options stop=1 panic_on_warn=1"
	if CPUS=$2 PARALLEL=$parallel NVM_MIB=$nvm SECONDS_LIMIT=${SECONDS_LIMIT:-1800} "$here/run.sh" "$out" \
		"test=stress need_direct=1 swaplab.nvm_direct=1 $options ${OPTIONS:-} seed=$4" >"$console" 2>&1; then
		races=$(sed -n 's/.*KCSAN: data-race in //p' "$console" | tr -d '\r' | sort -u | paste -s -d ';' -)
		[ -z "$races" ] || verdict="passes; data races elsewhere: $races"
		[ "$5" = passes ] || { verdict="NOT CAUGHT"; bad=1; }
	else
		# Content or the kernel's own complaint catches a defect; a count or a timeout does not.
		complaints='BAD [a-z_A-Z /-]*|(WARNING|BUG|Unable to handle|Internal error|Kernel panic).*|Bad (page|rss).*'
		verdict=$(grep -oE "$complaints" "$console" | head -n 1 | cut -c 1-90)
		if [ "$5" = passes ] || [ -z "$verdict" ]; then
			bad=1
			verdict="FAILS: ${verdict:-$(grep -oE 'FAIL .*|QEMU ended.*' "$console" | head -n 1)}"
		fi
	fi
	printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$2" "$3" "$nvm MiB" "$4" "$(counted "$console" swap_direct_map)" \
		"$(counted "$console" swap_direct_copy)" "$(counted "$console" swap_direct_free)" "$verdict"
}

echo "linux $(make -s -C "$source" kernelversion), 12 threads in 4 processes; with 44 MiB of NVM: $full_options; no-pin-during-copy: $tight_options; freed-before-flush: $drop_options; zero-asked-early: $zeros_options; with 14 MiB: $brief_options; checks-1: $single_options"
echo "| row | processors | clock | NVM | seed | maps | copies | slots freed | verdict |"
echo "|---|---|---|---|---|---|---|---|---|"
while read -r name fragments processors clock patches wanted size; do
	[ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
	build "$fragments" "$patches"
	for seed in ${SEEDS:-1}; do
		run "$name" "$processors" "$clock" "$seed" "$wanted" "$size" </dev/null
	done
done <<END
$rows
END
exit $bad
