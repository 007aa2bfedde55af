#!/bin/sh
# Recaptures data/unseen, programs that no policy was fitted to; needs git, cmake, gdb, mawk, bzip2,
# openssl. Texts, programs and this repository's history change, so counts do, too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
out=$root/data/unseen
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cd "$work"
"$root/.venv/bin/python" "$here/inputs.py" .
cp "$here/pairs.awk" .
git clone -q "$root" repo
cp "$root/target/release/swaplab-app" program

capture() {
    name=$1 filter=$2 most=$3
    shift 3
    # The limit ends a program early: its exit code says nothing.
    "$root/.venv/bin/swaplab" trace capture --method qemu --filter "$filter" --count "$most" -o "$out/$name.slt" -- "$@" >/dev/null || true
}

capture git-log 32 400000000 git -C repo log -p --no-color --no-ext-diff
capture git-pack 24 400000000 git -C repo pack-objects --all --stdout --threads=1 --no-reuse-delta
capture cmake 16 400000000 cmake --help-full
capture gdb 40 400000000 gdb -nx -batch -ex "info functions main" program
capture openssl 5 100000000 openssl speed -seconds 1 sha256
capture bzip2 11 100000000 bzip2 -9 -c words.txt
capture mawk 32 100000000 mawk -f pairs.awk words.txt
