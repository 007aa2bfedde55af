"""`tools/licences.py`: licences of Python packages are read from their metadata, and an unknown one
is refused.
"""

from __future__ import annotations

from email.message import Message
from types import ModuleType

import pytest
from command import ROOT, load_script


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    return load_script(ROOT / "tools" / "licences.py")


def package(*fields: tuple[str, str]) -> Message:
    found = Message()
    for name, value in (("Name", "example"), ("Version", "1"), *fields):
        found[name] = value
    return found


CASES = [
    ((("License-Expression", "MIT OR GPL-3.0-only"),), "MIT OR GPL-3.0-only", True),
    ((("License-Expression", "MIT AND GPL-3.0-only"),), "MIT AND GPL-3.0-only", False),
    ((("Classifier", "License :: OSI Approved :: MIT License"), ("License", "UNKNOWN")), "MIT", True),
    ((("Classifier", "License :: OSI Approved :: GNU General Public License v3 or later (GPLv3+)"),), "GPL-3.0-or-later", False),
    ((("License", "Apache 2.0"),), "Apache-2.0", True),
    ((("License", "Copyright (c) somebody. All rights reserved."),), "unknown", False),
    ((), "unknown", False),
]


@pytest.mark.parametrize(("fields", "licence", "is_allowed"), CASES)
def test_a_packages_licence(licences: ModuleType, fields: tuple[tuple[str, str], ...], licence: str, is_allowed: bool) -> None:
    one = package(*fields)
    assert licences.licence_of(one) == licence
    assert (licences.bad_packages([one]) == []) is is_allowed


def test_the_packages_of_this_environment(licences: ModuleType) -> None:
    packages = licences.installed()
    assert {"pydantic", "polars", "altair", "typer"} <= {one["Name"].lower() for one in packages}
    assert licences.bad_packages(packages) == []
