"""`opt-cost` is a lower bound of every policy, and is not listed as a policy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command import DATA, swaplab
from swaplab import _core

PRICES = {"swap_reads": 5263, "swap_writes": 28571, "file_reads": 10000, "file_writes": 14286}


def rows(*options: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = swaplab("replay", *options, "--json").document["rows"]
    return found


@pytest.mark.parametrize("options", [[], ["--mapping", "ignore", "--first-touch", "zero-fill"]], ids=["follow", "ignore"])
@pytest.mark.parametrize("trace", sorted(path.stem for path in DATA.glob("*.slt")))
def test_no_policy_is_below_the_bound(trace: str, options: list[str]) -> None:
    keys = [entry["key"] for entry in json.loads(_core.registry("policies"))]
    assert "opt-cost" not in keys and len(keys) > 20
    found = rows(DATA / f"{trace}.slt", "--policy", ",".join([*keys, "opt-cost"]), "--memory", "10%", *options)
    assert [row["policy"] for row in found] == [*keys, "opt-cost"]
    by_policy = {row["policy"]: row for row in found}
    bound = by_policy.pop("opt-cost")
    paging, io_ns = bound["paging"], bound["time"]["io_ns"]
    assert io_ns == sum(paging[column] * ns for column, ns in PRICES.items()) > 0
    for policy, row in by_policy.items():
        assert io_ns <= row["time"]["io_ns"] and paging["faults"] <= row["paging"]["faults"], policy
    # If no page is unmapped, Belady's rule has the fewest faults.
    assert "ignore" not in options or paging["faults"] == by_policy["opt"]["paging"]["faults"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--policy", "opt-cost", "--swap", "zram"], ("opt-cost is a bound", "expected no swap scheme")),
        (["--policy", "opt-cost", "--signal", "fault-only"], ("the bound opt-cost", "run.replay.signal = 'fault-only'", "expected exact")),
        (["--policy", "opt-cots"], ("unknown policy 'opt-cots'; expected 'opt-cost' (did you mean that?)",)),
        (["--policy", "opt-cost:x=1"], ("policy: opt-cost: unknown parameter 'x'",)),
    ],
    ids=["scheme", "signal", "misspelt", "parameter"],
)
def test_a_bound_is_refused_where_a_policy_must_run(options: list[str], why: tuple[str, ...]) -> None:
    swaplab("replay", DATA / "djpeg.slt", "--memory", "10%", *options).refuses(*why)


def test_a_bound_is_not_listed_as_a_policy() -> None:
    assert "opt-cost" not in swaplab("list", "policies").out
    assert "a lower bound" in swaplab("list", "bounds").out


def test_memory_above_the_footprint_is_the_footprint() -> None:
    """Nothing is evicted, so the bound equals a policy's cost."""
    trace = DATA / "djpeg.slt"
    footprint = json.loads(_core.trace_info(trace, "{}"))["footprint_pages"]
    document = swaplab("replay", trace, "--policy", "opt-cost,lru", "--memory", "101%", "--json").document
    assert [row["replay"]["frames"] for row in document["rows"]] == [footprint, footprint]
    bound, lru = ({name: row["paging"][name] for name in ("faults", *PRICES)} for row in document["rows"])
    assert bound == lru and bound["faults"] == footprint and bound["swap_writes"] == 0
    assert any("more than the footprint" in warning for warning in document["warnings"]), document["warnings"]


def test_rows_of_bounds_are_in_the_order_of_designs() -> None:
    trace = DATA / "djpeg.slt"
    alone = rows(trace, "--policy", "opt-cost", "--memory", "20%,40%")
    among = rows(trace, "--policy", "lru,opt-cost,fifo", "--memory", "20%,40%")
    sizes = [{"machine.dram": size} for size in ("20%", "40%")]
    assert [(row["policy"], row["point"]) for row in among] == [(policy, at) for at in sizes for policy in ("lru", "opt-cost", "fifo")]
    assert among[1::3] == alone and len(alone) == 2
    curve = swaplab("trace", "mrc", trace, "--policy", "opt-cost", "--sizes", "3", "--json").document
    by_size = {point["memory_pages"]: point["miss_ratio"] for point in curve["points"]}
    assert len(by_size) == 3 and list(by_size.values()) == sorted(by_size.values(), reverse=True)
    at = list(by_size)
    again = rows(trace, "--policy", "opt-cost", "--memory", ",".join(f"{pages}p" for pages in at))
    assert [row["paging"]["faults"] / row["paging"]["references"] for row in again] == [by_size[pages] for pages in at]
