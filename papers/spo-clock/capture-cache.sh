#!/bin/sh
# Captures programs behind a simulated processor cache, for the rows of README.md that test whether
# the paper's traces were filtered so. capture-cache.sh DIR writes DIR/spo-clock/l1/*.slt (32 KiB)
# and DIR/spo-clock/l1-ll/*.slt (with 2 MiB behind); then SWAPLAB_DATA=DIR. Needs qemu-user,
# sqlite3, gcc and python3; half an hour on one core. Inputs are those of data/workloads.
set -eu
out=${1:?usage: capture-cache.sh DIR}/spo-clock
root=$(cd "$(dirname "$0")/../.." && pwd)
swaplab=$root/.venv/bin/swaplab
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/l1" "$out/l1-ll"
out=$(cd "$out" && pwd)
cd "$work"
cp "$root/data/workloads/feed.py" "$root/data/workloads/shop.sql" .
"$root/.venv/bin/python" "$root/data/workloads/inputs.py" .
seq 1 400000 | shuf --random-source=feed.py > numbers.txt
cc1=$(gcc -print-prog-name=cc1)

capture() {
    name=$1
    shift
    "$swaplab" trace capture --method qemu --cache L1:32KiB -o "$out/l1/$name.slt" "$@" >/dev/null
    "$swaplab" trace capture --method qemu --cache L1:32KiB,LL:2MiB -o "$out/l1-ll/$name.slt" "$@" >/dev/null
}

capture sqlite -- sqlite3 :memory: ".read shop.sql"
capture python -- /usr/bin/python3 -S -I feed.py feed.tsv
capture cc1 -- "$cc1" -quiet -O1 program.c -o /dev/null
capture sort -- sort numbers.txt -o /dev/null
capture xz -- xz -k -c -T1 feed.tsv
