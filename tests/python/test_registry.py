"""Texts of specifications, and what schemes reserve."""

import pytest
from swaplab.analysis import registry


@pytest.mark.parametrize(
    ("text", "key", "given"),
    [
        ("lru", "lru", {}),
        ("zram:size=1GiB,algorithm=zstd", "zram", {"size": "1GiB", "algorithm": "zstd"}),
        ("minfree:adj=[0,900],kb=[1,2]", "minfree", {"adj": "[0,900]", "kb": "[1,2]"}),
        (
            'nvm-cache:admission="second-touch:entries=3,x=1",nvm=1MiB',
            "nvm-cache",
            {"admission": "second-touch:entries=3,x=1", "nvm": "1MiB"},
        ),
        ("./libmine.so:mine:bits=2", "./libmine.so:mine", {"bits": "2"}),
    ],
)
def test_a_text_has_a_key_and_parameters(text: str, key: str, given: dict[str, str]):
    assert registry.parts_of(text) == (key, given)


def test_values_are_written_as_a_text_has_them():
    spec = {"key": "x", "share": 0.5, "size": 2.0, "on": True, "list": [1.0, False], "text": "a,b", "name": "ab"}
    assert registry.text_of(spec) == 'x:share=0.5,size=2,on=on,list=[1;off],text="a,b",name=ab'


def test_reserved_bytes_are_sizes_or_shares_of_dram():
    of = registry.area_bytes
    assert of("nvm-direct:size=64MiB", 0) == {"nvm": 64 << 20}
    assert of("nvm-cache:nvm=25%,size=1MiB", 1000.0) == {"nvm": 250, "flash": 1 << 20}
    assert of("nvm-direct:size=unlimited", 1000.0) == of(None, 1000.0) == of("none", 1000.0) == {}


def test_policies_that_know_the_future_are_bounds():
    assert [registry.is_bound(policy) for policy in ("lru", "opt", "opt-cost", "./mine.py:Mine")] == [False, True, True, False]
