#!/bin/sh
# A new user's steps in an empty folder, without Rust, as documented: pip install of the wheel, the
# five commands of docs/first-hour.md, two notebook cells, a sweep, a report with figures,
# completion in three shells. Usage: newcomer.sh [WHEEL]
set -eu
wheel=$(realpath "${1:-$(ls -t dist/swaplab-*-abi3-*.whl | head -n 1)}")
root=$(realpath "$(dirname "$0")/..")
size=$(stat -c %s "$wheel")
[ "$size" -lt 9000000 ] || { echo "newcomer: the wheel has $size bytes; expected fewer than 9,000,000" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv .venv
export PATH="$folder/.venv/bin:/usr/bin:/bin"
! command -v cargo >/dev/null || { echo "newcomer: cargo is on the path; expected none, to show that it is not needed" >&2; exit 1; }
pip install -q --disable-pip-version-check "$wheel"
swaplab --version
# Completion by the protocol between the shell and the command.
_SWAPLAB_COMPLETE=complete_bash COMP_WORDS="swaplab re" COMP_CWORD=1 swaplab | grep -qx recommend
_SWAPLAB_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS="swaplab re" swaplab | grep -q recommend
_SWAPLAB_COMPLETE=complete_fish _TYPER_COMPLETE_ARGS="swaplab re" _TYPER_COMPLETE_FISH_ACTION=get-args swaplab | grep -q recommend
# The commands of the first hour.
sed -n '/^```bash/,/^```/p' "$root/docs/first-hour.md" | grep '^swaplab ' >commands
test "$(wc -l <commands)" -ge 3
while read -r line; do
    echo "> $line"
    sh -c "$line" </dev/null | tail -n 2
done <commands
python - "$root/examples/which_policy.ipynb" <<'P'
import json, sys
cells = [cell for cell in json.load(open(sys.argv[1]))["cells"] if cell["cell_type"] == "code"]
space = {}
for cell in cells[:2]:
    exec("".join(cell["source"]), space)
print(f"{len(cells[:2])} notebook cells ran")
P
swaplab new sweep.toml --preset sweep >/dev/null
swaplab check sweep.toml | head -n 2
swaplab run sweep.toml -o study | tail -n 1
swaplab report study --static | head -n 1
ls study/*.svg study/*.png >/dev/null
# A command that needs the native libraries runs, or reports that they are missing.
swaplab exec --dram 64MiB --swap nvm-direct -- true || [ $? -eq 3 ]
echo "newcomer: every step ran"
