"""Builders of typed documents with computed figures, for tests of analyses and reports. No world is
run.
"""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.core.model import (
    AppRow,
    Cdf,
    Classes,
    Daily,
    Design,
    Document,
    Energy,
    Experiment,
    Host,
    Input,
    KernelDetail,
    Kind,
    LaunchFigures,
    Lifetimes,
    Machine,
    MediumUse,
    Memory,
    MemoryDetail,
    Paging,
    PhoneDetail,
    ReplayDetail,
    Row,
    Run,
    SeedRow,
    Spread,
    StartSpread,
    Time,
    Timeline,
    TimelineKill,
    TraceFacts,
    Wear,
    Workload,
)

#: Costs of a page in ns, those of SPO-CLOCK's devices: swap read and write, file read and write.
COSTS = (5263, 28571, 10000, 14286)
PAGE = 4096
MIB = 1 << 20


def row(design: str, world: str, kind: Kind = "simulated", **changes: object) -> Row:
    """Build a row without figures; `changes` overrides its fields."""
    base = {
        "world": world,
        "kind": kind,
        "design": design,
        "policy": "system",
        "swap": "none",
        "app_policy": "none",
        "killer": None,
        "machine": "plain",
        "workload": "sample",
        "point": {},
        "seed": 0,
        "seeds": 1,
        "memory": Memory(),
        "paging": Paging(),
        "time": Time(),
        "launches": None,
        "energy": None,
        "media": {},
        "interval": {},
        "by_seed": [],
        "invalid": None,
    }
    return Row.model_validate(base | changes)


def replayed(
    policy: str,
    frames: int,
    memory: str,
    counts: tuple[int, int, int, int],
    swap: str | None = None,
    limited: bool = False,
    pool: int = 0,
    cpu_ns: int = 0,
    nvm: int = 0,
    joules: float | None = 0.5,
    workload: str = "sample",
    design: str | None = None,
) -> Row:
    """Build a row of a replay; its times are computed from `counts`: swap reads, swap writes, file
    reads, file writes.
    """
    times = [count * cost for count, cost in zip(counts, COSTS, strict=True)]
    reads, writes, file_reads, file_writes = counts
    dram = frames * PAGE
    return row(
        design or (policy if swap is None else f"{policy} · {swap}"),
        "replay",
        policy=policy,
        swap=swap,
        workload=workload,
        point={"machine.dram": memory},
        memory=Memory(dram_bytes=dram, pool_bytes=pool, total_dram_bytes=dram + pool, nvm_bytes=nvm, flash_bytes=0),
        paging=Paging(
            references=1_000_000,
            faults=reads + file_reads,
            swap_reads=reads,
            swap_writes=writes,
            file_reads=file_reads,
            file_writes=file_writes,
            copied_pages=reads,
            direct_reads=0,
            swap_in_bytes=reads * PAGE,
            swap_out_bytes=writes * PAGE,
            nvm_write_bytes=nvm,
            flash_write_bytes=0,
        ),
        time=Time(
            io_ns=sum(times),
            swap_read_ns=times[0],
            swap_write_ns=times[1],
            file_read_ns=times[2],
            file_write_ns=times[3],
            cpu_swap_ns=cpu_ns,
        ),
        energy=Energy(total_j=joules, parts_j={"swap": joules}),
        replay=ReplayDetail(
            frames=frames,
            filter_limited=limited,
            swap_read_ns=COSTS[0],
            swap_write_ns=COSTS[1],
            file_read_ns=COSTS[2],
            file_write_ns=COSTS[3],
            first_touch="charged",
        ),
    )


def trace_input(name: str = "sample") -> Input:
    facts = TraceFacts(references=1_000_000, footprint_pages=8200, page_bytes=PAGE, valid_from_frames=128)
    return Input(path=f"data/{name}.slt", name=name, kind="trace", content_hash="0123abcd" * 8, trace=facts)


def document(rows: Sequence[Row], inputs: Sequence[Input] = (), machine: Host | None = None, **experiment: object) -> Document:
    """Build a document of rows; its experiment has their designs."""
    designs = [
        Design(name=one.design, policy=one.policy, swap=one.swap, app_policy=one.app_policy, killer=one.killer)
        for one in {row.design: row for row in rows}.values()
    ]
    base = {
        "name": "run",
        "machine": Machine(),
        "design": designs,
        "workload": Workload(launches="large"),
        "run": Run(on=list(dict.fromkeys(row.world for row in rows))),
    }
    return Document(
        schema_version=2,
        name="run",
        experiment=Experiment.model_validate(base | experiment),
        inputs=list(inputs),
        versions={"swaplab": "0"},
        machine=machine,
        warnings=[],
        rows=list(rows),
        tables=[],
    )


def replay_document(policies: dict[str, float] | None = None, limited: Sequence[int] = ()) -> Document:
    """`policies`: name -> factor on CLOCK's swap traffic, at 5 sizes; file traffic moves the other
    way a little.
    """
    policies = policies or {"clock": 1.0, "lru": 1.02, "fifo": 1.3, "arc": 0.93, "two-q": 0.9, "lfu": 1.6, "spo-clock": 1.05, "opt": 0.6}
    rows = []
    for size in (5, 10, 15, 20, 25):
        for policy, factor in policies.items():
            reads = round(factor * 60_000 / size)
            counts = (reads, reads * 2 // 3, round(9_000 / size / factor**0.3), 300 // size)
            rows.append(replayed(policy, 82 * size, f"{size}%", counts, limited=size in limited))
    return document(rows, [trace_input()], workload=Workload(trace="data/sample.slt"))


def spread(mean: float, half: float | None = None, n: int = 100) -> Spread:
    """A distribution whose median is its mean; `half`: half the width of all its intervals."""
    interval = None if half is None else (mean - half, mean + half)
    return Spread(n=n, mean=mean, p50=mean, p95=2 * mean, mean_interval=interval, p50_interval=interval, p95_interval=None)


def launches(mean: float, half: float | None = None, cold: float = 2.0, kills: float = 3.0, resume: float | None = None) -> LaunchFigures:
    resumes = None if resume is None else spread(resume, half)
    ux = Classes(crisp=2, noticeable=2, annoying=2, unacceptable=2, unusable=2)
    return LaunchFigures(
        count=10, cold=cold, resumes=8, kills=kills, delay_ms=spread(mean, half), cold_ms=spread(5 * mean), resume_ms=resumes, ux=ux
    )


#: Of a phone on which nothing was swapped.
CALM = Paging(swap_in_bytes=0, swap_out_bytes=0, nvm_write_bytes=0, flash_write_bytes=0)


def phone_row(
    design: str,
    means: Sequence[float],
    swap: str = "none",
    is_tight: bool = True,
    kills: float = 3.0,
    half: float | None = None,
    is_generated: bool = True,
    **changes: object,
) -> Row:
    """A simulated phone: `means` are the mean delays of its seeds in ms. `half`: half the width of
    the mean's interval.
    """
    mean = sum(means) / len(means)
    seeds = [SeedRow(seed=at, figures={"launches.delay_ms.mean": value, "launches.kills": kills}) for at, value in enumerate(means)]
    return row(
        design,
        "phone",
        **(
            {
                "swap": swap,
                "workload": "large",
                "seeds": len(means),
                "memory": Memory(dram_bytes=1 << 30, total_dram_bytes=1 << 30, nvm_bytes=0, flash_bytes=8 * MIB),
                "paging": Paging(swap_in_bytes=MIB, swap_out_bytes=2 * MIB, nvm_write_bytes=0, flash_write_bytes=2 * MIB),
                "time": Time(wall_ns=43_200e9),
                "launches": launches(mean, half, kills=kills, resume=mean / 2),
                "energy": Energy(total_j=1.0, parts_j={"io": 1.0}),
                "media": {
                    "flash": MediumUse(
                        device="emmc-4.41",
                        write_bytes=2 * MIB,
                        wear=Wear(cycles=0.1, cycles_per_day=0.2, years_to_endurance=41.0, endurance_cycles=3000, capacity_bytes=1 << 30),
                    )
                },
                "interval": {} if half is None else {"launches.delay_ms.mean": (mean - half, mean + half)},
                "by_seed": seeds if len(means) > 1 else [],
                "phone": phone_detail(is_tight, is_generated, kills),
            }
            | changes
        ),
    )


def phone_detail(is_tight: bool = True, is_generated: bool = True, kills: float = 1.0) -> PhoneDetail:
    quantiles: list[float | None] = [float(10 * (at + 1)) for at in range(101)]
    cut: list[float | None] = [float(at) if at < 60 else None for at in range(101)]
    at_s = [0.0, 10.0, 20.0, 20.0, 30.0]
    parts = {
        f"{name}_mib": [100.0, 100.0, 100.0, 100.0, 100.0] for name in ("kernel", "graphics", "file", "system", "apps", "pool", "free")
    }
    killed = [TimelineKill(at_s=20.0, app="maps", adjustment=900, reason="low-memory", freed_mib=50.0)] if kills else []
    return PhoneDetail(
        premise_built=is_generated,
        memory_was_tight=is_tight,
        daily=Daily(
            kills={"cached": 12_345.6, "previous": 1.0, "service": 0.0, "foreground": 0.0},
            flash_write_gib=0.5,
            joules=12_345.0,
            battery_share=0.1,
        ),
        apps=[
            AppRow(app=name, launches=5, kills=1, cold_ms=StartSpread(n=2, p50=900, p95=1200), swap_out_bytes=MIB, swap_in_bytes=MIB)
            for name in ("maps", "chat", "system")
        ],
        cdf=Cdf(cold_ms=quantiles, resume_ms=quantiles, entry_lifetime_s=cut),
        entry_lifetime_s=Lifetimes(p50=30.0, below={"60": 0.1, "1000": 0.5, "2000": 0.6}, never=0.4),
        wasted_write_ratio=0.25,
        timeline=Timeline(seed=0, at_s=at_s, live=[1.0] * 5, swap_mib=[0.0] * 5, kills=killed, **parts),
    )


def kernel_row(
    design: str,
    mean: float,
    half: float | None = 1.0,
    swap: str = "none",
    world: str = "kernel",
    kind: Kind = "measured",
    **changes: object,
) -> Row:
    """Build a row of launches on a kernel with the mean and median delay `mean` in ms."""
    return row(
        design,
        world,
        kind,
        **(
            {
                "swap": swap,
                "workload": "mail, maps",
                "seeds": 3,
                "memory": Memory(dram_bytes=64 * MIB, pool_bytes=0),
                "paging": Paging(swap_in_bytes=10 * MIB, swap_out_bytes=20 * MIB),
                "launches": launches(mean, half, resume=mean, kills=2.0),
                "kernel": KernelDetail(swap_size_bytes=64 * MIB, psi_scope="group", by_app_ms={"mail": mean, "maps": mean}),
            }
            | changes
        ),
    )


def program_row(design: str, seconds: float, swap: str = "none", kind: Kind = "measured") -> Row:
    """Build a row of a program under the pager."""
    return row(
        design,
        "memory",
        kind,
        swap=swap,
        workload="redis",
        memory=Memory(dram_bytes=32 * MIB, nvm_bytes=8 * MIB),
        paging=Paging(copied_pages=100, direct_reads=10, swap_in_bytes=100 * PAGE, swap_out_bytes=200 * PAGE),
        time=Time(wall_ns=seconds * 1e9),
        program=MemoryDetail(exit_code=0, processes=1, stats={"swap_outs": 200, "dram_peak_bytes": 32 * MIB}),
    )


HOST = Host(
    kernel="Linux 6.12.1",
    processor="Example CPU",
    processors=2,
    memory_bytes=8 << 30,
    disk="virtio disk vda",
    target="local",
    user="nobody",
)
