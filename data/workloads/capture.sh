#!/bin/sh
# Recaptures data/traces (make traces). Addresses differ from run to run; counts hardly do.
# ARM64_ROOT=DIR captures the two arm64 traces as well; DIR has arm64 sqlite3, libjpeg-turbo-progs
# and their libraries, unpacked (data/PROVENANCE.md).
# BROWSER=1 captures a page load in headless Chromium as well: ten minutes, and about 10 MB that are
# not kept in the repository.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
swaplab=$here/../../.venv/bin/swaplab
out=$(cd "$here/.." && pwd)/traces
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cd "$work"
cp "$here"/feed.js "$here"/feed.py "$here"/shop.sql .
"$here/../../.venv/bin/python" "$here/inputs.py" .
cjpeg -progressive -quality 85 -outfile image.jpg image.ppm
vpxenc --quiet --codec=vp8 --rt --cpu-used=8 --threads=1 --target-bitrate=1500 -o film.webm film.y4m
cc1=$(gcc -print-prog-name=cc1)

capture() {
    name=$1 filter=$2
    shift 2
    "$swaplab" trace capture --method qemu --filter "$filter" -o "$out/$name.slt" "$@" >/dev/null
}

capture djpeg 16 -- djpeg -outfile /dev/null image.jpg
capture sqlite 16 -- sqlite3 :memory: ".read shop.sql"
capture python 16 -- /usr/bin/python3 -S -I feed.py feed.tsv
capture vpxdec 6 -- vpxdec --i420 --threads=1 -o /dev/null film.webm
capture cc1 24 -- "$cc1" -quiet -O1 program.c -o /dev/null
capture node 44 -- node feed.js feed.json
if [ -n "${ARM64_ROOT:-}" ]; then
    capture djpeg-arm64 16 --root "$ARM64_ROOT" -- "$ARM64_ROOT/usr/bin/djpeg" -outfile /dev/null image.jpg
    capture sqlite-arm64 16 --root "$ARM64_ROOT" -- "$ARM64_ROOT/usr/bin/sqlite3" :memory: ".read shop.sql"
fi
if [ -n "${BROWSER:-}" ]; then
    browser=$(ls /usr/lib/chromium/chromium /opt/google/chrome/chrome 2>/dev/null | head -1)
    # QEMU 7.2 ends by a signal when Chromium's threads go; the trace up to there is kept, marked
    # truncated.
    capture chromium 256 -- "$browser" --headless --no-sandbox --single-process --no-zygote --disable-gpu --dump-dom page.html || true
fi
