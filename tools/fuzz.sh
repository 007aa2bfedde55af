#!/bin/sh
# Run every fuzz target for SECONDS, JOBS at a time. Prints a line per target; exit code 1 if there
# is a finding.
# Usage: fuzz.sh SECONDS JOBS [TARGET..]
set -eu
cd "$(dirname "$0")/../fuzz"
seconds=$1 jobs=$2
shift 2
cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install cargo-fuzz" >&2; exit 3; }
rustup run nightly rustc --version >/dev/null 2>&1 || { echo "the nightly compiler is missing: rustup toolchain install nightly" >&2; exit 3; }
cargo +nightly fuzz build --fuzz-dir . 2>/dev/null || cargo +nightly fuzz build --fuzz-dir .
[ $# -gt 0 ] || set -- $(cargo +nightly fuzz list --fuzz-dir .)
# New inputs are written to a folder outside the corpus, so that the repository is not changed. The
# memory limit is far below the sizes that a hostile input may claim; an input that takes 30 s is a
# finding.
one='target=$0; seconds=$1; new=target/soak/$target; mkdir -p "$new"
if target/x86_64-unknown-linux-gnu/release/"$target" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=30 -max_len=4096 \
    -artifact_prefix="artifacts/$target-" "$new" "corpus/$target" >"target/soak/$target.log" 2>&1
then echo "$target: $(grep -a "^Done" "target/soak/$target.log")"
else echo "$target: a finding, see fuzz/target/soak/$target.log and fuzz/artifacts"; exit 1; fi'
mkdir -p artifacts target/soak
TMPDIR=$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")
export TMPDIR
printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh -c "$one" {} "$seconds"
