"""Check that every crate and Python package that swaplab is built from or tested with has an
allowed licence (`make lint`; offline).
"""

import importlib.metadata as metadata
import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

#: Licences of crates that may be linked into the distributed binaries. One alternative of an `OR`
#: is sufficient.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0",
    "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip

#: Further licences of Python packages, which are installed with swaplab and not distributed with
#: it. `BSD`: its metadata does not say which of the BSD licences.
INSTALLED = {"BSD", "MPL-2.0", "PSF-2.0"}

#: Texts in the field `License` and classifiers that stand for a licence.
NAMES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD",
    "GNU General Public License v3 or later (GPLv3+)": "GPL-3.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}

#: Packages with another licence: the reason why they may be used.
EXCEPTIONS = {
    "libcachesim": "GPL-3.0-or-later: a peer that tests run as a process of its own, never imported by swaplab",
    "yattag": "LGPL: a dependency of cosmic-ray, which `make mutants` alone uses",
}

#: A package's metadata, by field; a field that is missing is None.
Package = Any


def allowed(expression: str, accepted: set[str] = ALLOWED) -> bool:
    """Whether `accepted` satisfies an SPDX expression (`OR`, `AND`, parentheses; `/` in old ones
    means `OR`).
    """
    tokens = re.split(r"\s*(\(|\)|\bOR\b|\bAND\b|/)\s*", expression)
    words = {"OR": "or", "/": "or", "AND": "and", "(": "(", ")": ")"}
    return bool(eval(" ".join(words.get(token, str(token in accepted)) for token in tokens if token), {"__builtins__": {}}))


def licence_of(package: Package) -> str:
    """Return a package's licence as an SPDX expression, from its metadata; `unknown` if none of it
    is understood.

    Several classifiers are alternatives, as in "Dual License". A `License` field with the licence's
    text is not read.
    """
    if expression := package["License-Expression"]:
        return str(expression)
    classifiers = [text.split(" :: ")[-1] for text in package.get_all("Classifier") or [] if text.startswith("License ::")]
    found = [NAMES[name] for name in classifiers if name in NAMES]
    text = (package["License"] or "").strip()
    return " OR ".join(dict.fromkeys(found)) or NAMES.get(text) or (text if text in ALLOWED | INSTALLED else "unknown")


def bad_packages(packages: list[Package]) -> list[str]:
    """Return a line for each package without an allowed licence."""
    lines = []
    for package in packages:
        licence = licence_of(package)
        if not allowed(licence, ALLOWED | INSTALLED) and package["Name"].lower() not in EXCEPTIONS:
            lines.append(f"{package['Name']} {package['Version']}: licence {licence!r}; expected one of tools/licences.py")
    return lines


def bad_crates(packages: list[dict[str, str]]) -> list[str]:
    """Return a line for each crate without an allowed licence."""
    bad = [package for package in packages if not allowed(package["license"] or "none")]
    return [f"{one['name']} {one['version']}: licence {one['license']!r}; expected one of tools/licences.py" for one in bad]


def crates() -> list[dict[str, str]]:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    found: list[dict[str, str]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["packages"]
    return found


def installed() -> list[Package]:
    """Return the metadata of every package of this environment but those that the environment
    itself came with.
    """
    found = (distribution.metadata for distribution in metadata.distributions())
    return [package for package in found if package["Name"].lower() not in ("pip", "setuptools")]


def report(what: str, packages: list[Any], bad: Callable[[list[Any]], list[str]], fewest: int) -> bool:
    """Print each package with another licence, and the count. Returns whether all are allowed and
    there are at least `fewest`.
    """
    lines = bad(packages)
    for line in lines:
        print(line, file=sys.stderr)
    print(f"{len(packages)} {what}, {len(packages) - len(lines)} with an allowed licence or an exception")
    return not lines and len(packages) >= fewest


def main() -> int:
    """Check crates and packages. Returns the exit code."""
    packages = installed()
    good = [report("crates", crates(), bad_crates, 50), report("Python packages", packages, bad_packages, 30)]
    for name in (package["Name"] for package in packages if licence_of(package) == "BSD"):
        print(f"{name}: its metadata does not say which of the BSD licences")
    for name, reason in EXCEPTIONS.items():
        print(f"{name}: excepted ({reason})")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
