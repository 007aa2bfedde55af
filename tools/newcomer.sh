#!/bin/sh
# A newcomer's path in a fresh folder, without Rust: pip install of the wheel, the demo, a notebook cell, a sweep, a report, as
# docs/first-hour.md and docs/how-to/sweeps.md say: newcomer.sh [WHEEL]
set -eu
wheel=$(realpath "${1:-$(ls -t dist/swaplab-*-abi3-*.whl | head -n 1)}")
notebook=$(realpath "$(dirname "$0")/../examples/which_policy.ipynb")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv .venv
export PATH="$folder/.venv/bin:/usr/bin:/bin"
! command -v cargo >/dev/null || { echo "newcomer: cargo is on the path; this is to show that none is needed" >&2; exit 1; }
pip install -q --disable-pip-version-check "$wheel"
swaplab --version
# Completion: the shell asks the command itself.
_SWAPLAB_COMPLETE=complete_bash COMP_WORDS="swaplab re" COMP_CWORD=1 swaplab | grep -qx recommend
swaplab demo | tail -n 1
python - "$notebook" <<'P'
import json, sys
cells = [cell for cell in json.load(open(sys.argv[1]))["cells"] if cell["cell_type"] == "code"]
space = {}
for cell in cells[:2]:
    exec("".join(cell["source"]), space)
print(f"{len(cells[:2])} notebook cells ran")
P
cp "$(python -c "import swaplab; print(swaplab.Trace.bundled('djpeg').path)")" trace.slt
swaplab init sweep.toml --preset sweep >/dev/null
swaplab sweep sweep.toml -o study | tail -n 2
swaplab report study --static | head -n 1
ls study/*.svg study/*.png >/dev/null
# What needs the libraries beside the extension says so, or runs.
swaplab run --scheme nvm-direct --dram 64MiB -- true || [ $? -eq 3 ]
echo "newcomer: every step ran"
