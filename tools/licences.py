"""Check that every crate that swaplab is built from has an allowed licence; run by `make lint`, without network access."""

import json
import re
import subprocess
import sys

#: Licences of crates that may be linked into the distributed binaries. One alternative of an `OR` is sufficient.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0",
    "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip


def allowed(expression: str) -> bool:
    """Whether ALLOWED satisfies an SPDX expression (`OR`, `AND`, parentheses; `/` in old ones means `OR`)."""
    tokens = re.split(r"\s*(\(|\)|\bOR\b|\bAND\b|/)\s*", expression)
    words = {"OR": "or", "/": "or", "AND": "and", "(": "(", ")": ")"}
    return bool(eval(" ".join(words.get(token, str(token in ALLOWED)) for token in tokens if token), {"__builtins__": {}}))


def main() -> int:
    """Print a line for each crate whose licence is not allowed. Returns the exit code."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    packages = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["packages"]
    bad = [package for package in packages if not allowed(package["license"] or "none")]
    for package in bad:
        print(f"{package['name']} {package['version']}: licence {package['license']!r}; expected one of tools/licences.py", file=sys.stderr)
    print(f"{len(packages)} crates, {len(packages) - len(bad)} with an allowed licence")
    return 1 if bad or len(packages) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
