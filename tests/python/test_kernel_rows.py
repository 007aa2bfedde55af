"""Rows and tables of the world `kernel` from given outcomes, and runs that fail at the start or
later.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput, Failed
from swaplab.worlds import kernel
from swaplab.worlds.kernel import rows, runner
from swaplab.worlds.kernel.configuration import Configuration, configurations
from swaplab.worlds.kernel.process import User
from swaplab.worlds.kernel.protocol import Death, Outcome, Visit
from swaplab.worlds.result import Options

MS = 1_000_000
EXPERIMENT = """
machine = { dram = "48MiB", killer = { key = "minfree", minfree_kb = [3000], adj = [900] } }
design = [{ name = "zram", swap = "zram:size=16MiB" }, { name = "none", swap = "none" }]
run = { on = ["kernel"], seed = 7, seeds = 2, kernel = { calibrate = false } }
workload.launches = { rounds = 1 }
workload.apps = [{ use = "phone-app", name = "mail", footprint = "24MiB" }, { use = "phone-app", name = "maps" }]
"""


def both() -> list[Configuration]:
    return configurations([experiments.parse(EXPERIMENT, "x.toml")])


def visit(at_ms: int, app: str, start: str, ms: float, warm_up: bool = False) -> Visit:
    return Visit(0, warm_up, app, start, ms, 3, 5, 2, 1, 0, at_ms * MS)


def moment(at_ms: int, anon: int) -> dict[str, int]:
    sizes = {"anon_bytes": anon, "file_bytes": 4096, "swap_bytes": 0, "pool_bytes": 8192, "live": 1}
    return {"at_ns": at_ms * MS, **sizes, "swap_in_bytes": 0, "swap_out_bytes": 0, "psi_some_us": 0, "psi_full_us": 0, "kernel_kills": 0}


def outcome(swapped_in: int, kernel_kills: int, *visits: Visit) -> Outcome:
    names = ("swap_out_bytes", "direct_reads", "disk_swap_out_bytes", "read_ahead_pages", "major_faults", "anon_refaults", "file_refaults")
    counts = dict.fromkeys((*names, "psi_some_us", "psi_full_us"), 10) | {"swap_in_bytes": swapped_in, "kernel_kills": kernel_kills}
    kills = [Death(60 * MS, "mail", "low-memory", 77)]
    memory = {"limit": 48 << 20, "peak": 40 << 20, "pool": 8192}
    return Outcome(list(visits), kills, [moment(31, 100)], counts, memory, {"mail": {"Pss": 5}}, bad_pages=0, checked_apps=2, seconds=2.0)


def two() -> list[Outcome]:
    first = outcome(4096, 0, visit(0, "mail", "cold", 30.5, True), visit(50, "mail", "resume", 4.25), visit(70, "maps", "cold", 20))
    return [first, outcome(8192, 1, visit(1, "mail", "cold", 31), visit(50, "maps", "resume", 6.25))]


def test_a_row_by_hand() -> None:
    row = rows.row(both()[0], two())
    assert (row.world, row.kind, row.design, row.swap, row.killer) == (
        "kernel",
        "measured",
        "zram",
        "zram:size=16MiB",
        "minfree:adj=[900],minfree_kb=[3000]",
    )
    assert (row.workload, row.machine, row.seed, row.seeds, row.invalid) == ("mail maps", "plain", 7, 2, None)
    launches = row.launches
    assert (launches.count, launches.cold, launches.resumes, launches.kills) == (2, 1, 1, 1.5)
    assert launches.kill_reasons == {"low-memory": 1, "out-of-memory": 0.5} and launches.ux.crisp == 2
    # The warm-up is included in cold starts only.
    assert launches.cold_ms.n == 3 and launches.delay_ms.n == 4 and launches.delay_ms.mean == (4.25 + 20 + 31 + 6.25) / 4
    assert row.interval["launches.resume_ms.p50"] == launches.resume_ms.p50_interval == (4.25, 6.25)
    assert (row.paging.swap_in_bytes, row.paging.copied_pages, row.paging.refaults) == (6144, 1.5, 20)
    assert row.paging.flash_write_bytes is None and row.energy is None and row.memory.metadata_bytes is None
    assert (row.memory.dram_bytes, row.memory.pool_bytes, row.memory.total_dram_bytes) == (48 << 20, 8192, (48 << 20) + 8192)
    assert [one.seed for one in row.by_seed] == [7, 8]
    assert [one.figures["launches.kills"] for one in row.by_seed] == [1, 2]
    assert [one.figures["paging.swap_in_bytes"] for one in row.by_seed] == [4096, 8192]
    assert (
        row.kernel.swap_size_bytes == 16 << 20 and row.kernel.checked_apps == 4 and row.kernel.by_app_ms == {"mail": 17.625, "maps": 13.125}
    )
    assert row.time.wall_ns == 2e9 and row.time.psi_some_ns == 10_000


def test_a_table_row_a_visit_by_hand() -> None:
    found = rows.tables([(both()[0], two())])
    launches = found["launches"]
    assert launches.columns[:6] == ["design", "seed", "at_ns", "app", "start", "ready_ns"] and launches.height == 5
    assert launches.row(1)[:6] == ("zram", 7, 50 * MS, "mail", "resume", 4_250_000) and launches["warm_up"].sum() == 1
    assert found["kills"].rows() == [("zram", seed, 60 * MS, "mail", "low-memory", 77) for seed in (7, 8)]
    assert found["timeline"]["anon_bytes"].to_list() == [100, 100]
    assert rows.tables([(both()[0], [])])["kills"].height == 0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """A machine with all capabilities, on which nothing is changed; repetitions return `outcomes`
    by design.
    """
    monkeypatch.setattr(runner, "check", lambda todo, dry_run: None)
    monkeypatch.setattr(runner.Machine, "opened", lambda self: nullcontext(self))
    monkeypatch.setattr(User, "named", classmethod(lambda cls, name, as_root: cls("nobody", 65534, 65534)))
    outcomes: dict[str, list[Outcome | Exception]] = {}

    def repeat(_place: object, of: Configuration) -> Outcome:
        found = outcomes[of.design.name].pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(runner, "repeat", repeat)
    return outcomes


def test_a_failure_after_the_first_result_makes_only_its_row_invalid(machine) -> None:
    machine |= {"zram": two(), "none": [Failed("mkdir: no")]}
    result = kernel.run([experiments.parse(EXPERIMENT, "x.toml")], Options())
    zram, none = result.rows
    assert zram.invalid is None and zram.seeds == 2 and zram.launches.kills == 1.5
    assert none.invalid == "mkdir: no" and none.launches is None and "mkdir: no" in result.warnings[0]


def test_a_failure_before_the_first_result_ends_the_run(machine) -> None:
    machine |= {"zram": [BadInput("app mail: no")], "none": []}
    with pytest.raises(BadInput, match="app mail: no"):
        kernel.run([experiments.parse(EXPERIMENT, "x.toml")], Options())
