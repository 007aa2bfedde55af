"""Recommendations: effects by hand, no recommendation without evidence, settings by the registry,
the page.
"""

from __future__ import annotations

import documents as d
import pytest
from swaplab import BadInput, report
from swaplab.analysis.recommend import effect, recommend
from swaplab.analysis.recommend.options import options
from swaplab.analysis.recommend.settings import Settings, place_of, settings_of
from swaplab.core.model import Background, Document, Experiment, Input, KernelSettings, Machine

BASE = [100.0, 110, 90, 105, 95, 100]
SIZE = "/sys/block/zram0/disksize"


def simulated(schemes: dict[str, tuple[str, list[float]]], machine: Machine | None = None, killer: str | None = None) -> Document:
    """Build a run of designs by name, each with its swap and each seed's mean launch delay."""
    rows = [d.phone_row(name, times, swap=swap, half=1.0, killer=killer) for name, (swap, times) in schemes.items()]
    return (
        d.document(rows, machine=None)
        if machine is None
        else d.document(rows).model_copy(update={"experiment": with_machine(rows, machine)})
    )


def with_machine(rows: list, machine: Machine) -> Experiment:
    return d.document(rows).experiment.model_copy(update={"machine": machine})


def test_an_effect_by_hand() -> None:
    # Changes of -10, -12, -8 where the mean before is 100: mean -10, deviation 2, half-width
    # 4.3027 * 2 / sqrt(3).
    found = effect("x", {"a": [(90, 80)], "b": [(100, 88)], "c": [(110, 102)]}, 0.95)
    assert (found.percent, found.n, found.better) == (pytest.approx(-10), 3, True)
    assert found.high == pytest.approx(-10 + 4.3027 * 2 / 3**0.5, abs=1e-3)
    # Two sizes of one user are one unit.
    assert effect("x", {"a": [(90, 80), (90, 80)]}, 0.95).n == 1
    assert effect("x", {}, 0.95).percent is None
    # Without a reference value there is no percentage.
    assert effect("kills", {u: [(0, 2)] for u in "abc"}, 0.95).absolute


def test_settings_have_the_names_of_kernel_and_android() -> None:
    machine = Machine(
        kernel=KernelSettings(extra_free="24300KiB", policy="active-inactive:swappiness=80"),
        killer="minfree:minfree_kb=[73728;184320],adj=[0;900]",
    )
    found = settings_of(d.phone_row("x", [1.0], swap="tiered:size=512MiB,budget=64MiB,algorithm=zstd"), Experiment(machine=machine)).values
    assert found["vm.swappiness"] == "80" and found["vm.extra_free_kbytes"] == "24300"
    assert found["sys.lmk.minfree_levels"] == "18432:0,46080:900" and "ro.lmk.thrashing_limit" not in found
    assert found["/sys/block/zram0/writeback_limit"] == "16384" and found["/sys/block/zram0/comp_algorithm"] == "zstd"
    lmkd = settings_of(d.phone_row("x", [1.0], killer="lmkd:thrashing_limit=80"), Experiment()).values
    assert lmkd["ro.lmk.thrashing_limit"] == "80" and lmkd["swap"] == "none" and "sys.lmk.minfree_levels" not in lmkd
    assert (place_of(SIZE), place_of("vm.swappiness"), place_of("ro.lmk.thrashing_limit"), place_of("swap")) == (
        "sysfs",
        "sysctl",
        "property",
        "choice",
    )


def test_the_kernels_policy_is_a_condition_and_a_scheme_is_not() -> None:
    def of(policy: str = "lru", swap: str | None = "zram") -> Settings:
        return settings_of(
            d.phone_row("x", [1.0], swap=swap, killer="lmkd"), Experiment(machine=Machine(kernel=KernelSettings(policy=policy)))
        )

    assert of().conditions == of(swap="zswap").conditions != of("fifo").conditions
    # Without a scheme, the killer's settings are still read.
    assert "ro.lmk.thrashing_limit" in of(swap=None).values and "swap" not in of(swap=None).values


def test_a_varied_setting_is_that_of_the_rows_point() -> None:
    rows = [d.phone_row("zram", BASE, swap="zram", half=1.0, point={"machine.kernel.swappiness": value}) for value in (60, 140)]
    values = {option.name: option.settings["vm.swappiness"] for option in options([d.document(rows)])}
    assert values == {"zram (machine.kernel.swappiness = 60)": "60", "zram (machine.kernel.swappiness = 140)": "140"}


def test_only_separated_improvements_are_recommended() -> None:
    faster, unsure = [0.9 * ms for ms in BASE], [ms + by for ms, by in zip(BASE, (5, -9, 6, -8, 4, -1), strict=True)]
    now = ("zram:size=256MiB", BASE)
    run = simulated({"now": now, "big": ("zram:size=512MiB", faster), "zstd": ("zram:size=256MiB,algorithm=zstd", unsure)})
    found = recommend([("r", run)])
    by_name = {one.name: one for one in found.settings}
    assert by_name[SIZE].recommended == "512MiB"
    assert by_name["/sys/block/zram0/comp_algorithm"].recommended is None
    assert "does not separate" in by_name["/sys/block/zram0/comp_algorithm"].why
    assert found.diff == f"--- now\n+++ recommended\n-{SIZE} = 256MiB\n+{SIZE} = 512MiB"
    assert (found.comparisons, found.options, len(found.units)) == (2, 3, 6)
    # The option with all recommended settings gives the effect of all at once.
    assert found.together is not None and found.together.option == "big"
    [aim] = [one for one in found.together.effects if one.path == "launches.delay_ms.mean"]
    assert aim.percent == pytest.approx(-10)


def test_sizes_are_compared_if_the_baseline_has_none() -> None:
    """zRAM of 1 and of 3 GiB differ in size only, also if the baseline has no swap."""
    run = simulated(
        {"none": ("none", BASE), "1": ("zram:size=1GiB", [0.8 * ms for ms in BASE]), "3": ("zram:size=3GiB", [0.7 * ms for ms in BASE])}
    )
    found = {one.name: one for one in recommend([("r", run)]).settings}
    assert found[SIZE].reference == "1GiB" and found[SIZE].recommended == "3GiB" and found[SIZE].now is None
    assert found["swap"].recommended == "zram" and "+swap = zram" in recommend([("r", run)]).diff


def test_settings_of_a_scheme_that_is_not_recommended_are_left_out() -> None:
    """Without swap there is no zRAM whose write-back could be limited or whose algorithm could be
    set.
    """
    slower, lower = [1.2 * ms for ms in BASE], [0.8 * ms for ms in BASE]
    tried = {
        "now": ("zram:size=1GiB", BASE),
        "none": ("none", lower),
        "tiered": ("tiered:size=1GiB,budget=64MiB", slower),
        "zstd": ("zram:size=1GiB,algorithm=zstd", [0.9 * ms for ms in BASE]),
    }
    found = recommend([("r", simulated(tried))])
    assert found.diff == "--- now\n+++ recommended\n-swap = zram\n+swap = none"


def test_a_setting_without_effect_is_called_so() -> None:
    run = simulated({"now": ("zram:size=1GiB", BASE), "2": ("zram:size=2GiB", BASE), "3": ("zram:size=3GiB", BASE)})
    found = recommend([("r", run)])
    [one] = found.settings
    assert found.without_effect == [one.name] and one.has_no_effect("launches.delay_ms.mean") and one.recommended is None
    assert one.why == "no effect: mean launch delay is the same with 2GiB, 3GiB"
    assert one.values[0].effects[0].text("mean launch delay") == "mean launch delay unchanged (n = 6)"


def test_two_units_and_worse_values_give_no_recommendation() -> None:
    two = recommend([("r", simulated({"now": ("none", [100.0, 90]), "zram": ("zram", [50.0, 45])}))])
    assert two.diff == "" and "fewer than 3" in two.settings[0].why
    worse = recommend([("r", simulated({"now": ("none", BASE), "zram": ("zram", [2 * ms for ms in BASE])}))])
    assert "keep it" in worse.settings[0].why


def test_settings_are_compared_only_if_nothing_else_differs() -> None:
    lower = [0.5 * ms for ms in BASE]
    swappy = KernelSettings(policy="active-inactive:swappiness=100")
    # DRAM size and swappiness change together, so no two options differ in swappiness alone.
    apart = [("a", simulated({"x": ("zram", BASE)})), ("b", simulated({"x": ("zram", lower)}, Machine(dram="2GiB", kernel=swappy)))]
    [one] = recommend(apart).settings
    assert one.recommended is None and "no two options" in one.why
    [one] = recommend([apart[0], ("b", simulated({"x": ("zram", lower)}, Machine(kernel=swappy)))]).settings
    assert (one.name, one.now, one.recommended) == ("vm.swappiness", "60", "100")


def test_a_recorded_user_is_a_single_unit_for_any_number_of_seeds() -> None:
    run = simulated({"now": ("none", [100.0, 90, 80]), "zram": ("zram", [50.0, 45, 40])})
    run.inputs = [Input(path="l.csv", name="l.csv", kind="launches", content_hash="0" * 64)]
    found = recommend([("r", run)])
    assert found.units == [f"user {'0' * 64}"] and found.diff == "" and "fewer than 3" in found.settings[0].why
    # The page truncates a hash.
    assert "user 000000000000" in dict(report.sections(found)[0].provenance)["units"]
    assert "0" * 40 not in dict(report.sections(found)[0].provenance)["units"]


def test_traces_are_units_of_a_replay() -> None:
    runs = []
    for name in ("a", "b", "c"):
        rows = [
            d.replayed("clock", 9, "9p", (0, 0, 100, 0), swap="zram", workload=name),
            d.replayed("clock", 9, "9p", (0, 0, 80, 0), swap="zram:size=64MiB", workload=name),
        ]
        runs.append((name, d.document(rows, [d.trace_input(name).model_copy(update={"content_hash": name})])))
    found = recommend(runs)
    assert found.units == ["trace a", "trace b", "trace c"] and found.settings[0].recommended == "64MiB"


def test_refusals() -> None:
    one = simulated({"now": ("none", [1.0, 2, 3]), "zram": ("zram", [1.0, 2, 3])})
    measured = d.document([d.kernel_row("zram", 3)])
    for runs, given, message in (
        ([("r", one)], {"goal": "stall_ms"}, "expected one of: launches.delay_ms.mean"),
        ([("r", one)], {"baseline": "then"}, "expected one of: now"),
        ([("r", one), ("m", measured)], {}, "a model is not a measurement"),
        ([("r", simulated({"a": ("none", [1.0]), "b": ("none", [1.0])}))], {}, "2 rows differ in no setting"),
    ):
        with pytest.raises(BadInput, match=message):
            recommend(runs, **given)


def test_the_page() -> None:
    run = simulated({"now": ("zram:size=256MiB", BASE), "big": ("zram:size=512MiB", [0.9 * ms for ms in BASE])})
    run.warnings = ["Apps are a fit: kills are off by +223 %."]
    [section] = report.sections(recommend([("r", run)]))
    assert section.verdict.startswith(f"Set {SIZE} = 512MiB") and section.warnings == run.warnings
    assert section.figures[0].title == "Effect of each value on mean launch delay"
    [section] = report.sections(recommend([("r", simulated({"now": ("none", BASE), "z": ("zram", BASE)}))]))
    assert section.verdict.startswith("Nothing is recommended")


def test_a_figure_that_no_seed_has_is_no_evidence() -> None:
    """The mean over all seeds is known for the row alone. As the figure of each seed it would be
    evidence without any spread.
    """
    rows = [d.phone_row(name, delays, swap=swap) for name, delays, swap in (("now", BASE, "none"), ("zram", BASE, "zram"))]
    rows = [row.model_copy(update={"launches": row.launches.model_copy(update={"resume_ms": row.launches.delay_ms})}) for row in rows]
    assert all("launches.resume_ms.mean" not in draw.figures for row in rows for draw in row.by_seed)
    with pytest.raises(BadInput, match="not in these runs"):
        recommend([("r", d.document(rows))], goal="launches.resume_ms.mean")


def test_a_setting_is_recommended_before_another_scheme_that_does_no_more() -> None:
    """Without swap launches are as much faster as without app compaction: zRAM is kept."""
    lower = [0.8 * ms for ms in BASE]
    compacted, not_compacted = (Machine(background=Background(compact=kind)) for kind in ("aosp", "off"))
    run = simulated({"now": ("zram", BASE), "none": ("none", lower)}, compacted)
    other = simulated({"no app compaction": ("zram", lower)}, not_compacted)
    found = recommend([("r", run), ("o", other)], only_from_baseline=True)
    by_name = {one.name: one for one in found.settings}
    assert by_name["swap"].recommended is None and by_name["swap"].keep
    assert by_name["swap"].why.startswith("keep it: activity_manager/use_compaction = false is not shown to do less")
    assert found.diff == "--- now\n+++ recommended\n-activity_manager/use_compaction = true\n+activity_manager/use_compaction = false"
    # Where no swap is better beyond doubt, it is recommended.
    best = simulated({"now": ("zram", BASE), "none": ("none", [0.3 * ms for ms in BASE])}, compacted)
    assert "+swap = none" in recommend([("r", best), ("o", other)], only_from_baseline=True).diff
