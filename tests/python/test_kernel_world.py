"""The world `kernel` without root: experiments and app files, the killer, A2S' steering,
statistics.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from swaplab._core import AppPolicyRule, KillerRule
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.model import Experiment
from swaplab.core.statistics import quantile
from swaplab.worlds import apps, kernel, launch_figures
from swaplab.worlds.kernel import killer, runner, steering
from swaplab.worlds.kernel.collect import counters, events
from swaplab.worlds.kernel.configuration import configurations
from swaplab.worlds.kernel.schemes import SCHEMES
from swaplab.worlds.procfs import table
from swaplab.worlds.result import Options

GOOD = """machine.dram = "64MiB"
run.on = ["kernel"]
workload.launches = { rounds = 2 }
workload.apps = [{ use = "APP" }]
design = [{ swap = "SWAP" }]
"""
APP = 'name = "a"\ncommand = ["COMMAND"]\nready = [{ expect = "x" }]\nrequest = [{ expect = "x" }]\n'
#: Tested presets.
LIVE = ("quick", "swapbench", "against-sim", "against-sim-unseen", "a2s-small-kernel", "a2s-medium-kernel", "a2s-large-kernel")


def parsed(text: str) -> Experiment:
    return experiments.parse(text, "x.toml")


def good(app: str = "redis", swap: str = "zram:size=16MiB") -> str:
    return GOOD.replace("APP", app).replace("SWAP", swap)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"64MiB"', '"lots"', "lots"),
        ("rounds = 2", "rounds = 0", "workload.launches.rounds: 0"),
        ("rounds = 2", "rouns = 2", "rouns"),
        ('"redis"', '"redus"', "did you mean redis?"),
        ('{ use = "redis" }', '{ use = "redis" }, { use = "redis" }', "two apps are named 'redis'"),
        ('{ use = "redis" }', '{ use = "redis", kays = 1 }', "unknown value 'kays'; expected one of keys, bytes"),
        ("rounds = 2", 'order = ["redis", "maps"]', "order: 'maps'; expected names of apps: redis"),
        ('"zram:size=16MiB"', '"zrm"', "unknown scheme 'zrm'; expected 'zram' (did you mean that?)"),
        ('"zram:size=16MiB"', '"tiered"', "scheme tiered cannot be run here"),
        ('"zram:size=16MiB"', '"zram"', "zram is unlimited; expected a size on a real kernel, such as zram:size=64MiB"),
        ('"zram:size=16MiB"', '"flash:size=16MiB,readahead=8"', "readahead has no effect on a real kernel; expected some of size"),
        ('"zram:size=16MiB"', '"zswap:size=16MiB,pool=10%"', "pool has no effect on a real kernel; expected some of size, algorithm"),
        ('swap = "zram', 'policy = "lru", swap = "zram', "policy lru cannot be put into a kernel that runs"),
        ('swap = "zram', 'killer = "lmkd:victim=oracle", swap = "zram', "chooses by what a running kernel cannot know"),
        ('swap = "zram', 'app_policy = "acclaim", swap = "zram', "app policy acclaim cannot be steered by control groups"),
    ],
)
def test_a_bad_experiment_is_one_line_with_place_and_expectation(old: str, new: str, complaint: str):
    assert old in good()
    with pytest.raises(BadInput) as caught:
        wanted = parsed(good().replace(old, new))
        experiments.refuse(wanted, "x.toml")
        kernel.run([wanted], Options(dry_run=True))
    said = str(caught.value)
    assert complaint in said and "\n" not in said


def test_a_missing_program_and_a_missing_app_file_are_refused(tmp_path: Path):
    (tmp_path / "app.toml").write_text(APP.replace("COMMAND", "no-such-program"))
    with pytest.raises(BadInput, match="'no-such-program'; expected a program"):
        kernel.run([parsed(good(str(tmp_path / "app.toml")))], Options(dry_run=True))
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    for name, why in (("none.toml", "No such file"), ("latin.toml", "not UTF-8 text")):
        with pytest.raises(BadInput, match=why):
            apps.load_apps(parsed(good(str(tmp_path / name))))
    with pytest.raises(BadInput, match="no ready test; expected an app file that has one"):
        kernel.run([parsed(good().replace('use = "redis"', 'command = ["true"]'))], Options(dry_run=True))


def test_missing_capabilities_are_named_before_any_change(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("swaplab.worlds.capabilities.PROBES", (("root", (), lambda: (False, "effective user id 1")),))
    monkeypatch.setattr(runner.Machine, "opened", lambda self: pytest.fail("the machine was opened"))
    wanted = parsed(good("swaplab-app"))
    monkeypatch.setattr(runner, "find_program", lambda name: "/bin/true")
    with pytest.raises(NotSupported, match=r"needs root \(effective user id 1\)"):
        kernel.run([wanted], Options())
    assert kernel.needs(wanted) == ["root", "swap", "swap-tools", "zram"]


def test_a_dry_run_prints_every_change(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("swaplab.worlds.spawn.find_program", lambda name: "/bin/true")
    monkeypatch.setattr(runner, "find_program", lambda name: "/bin/true")
    designs = ", ".join(f'{{ swap = "{key}:size=16MiB" }}' for key in ("zram", "ramdisk", "flash"))
    said: list[str] = []
    result = kernel.run(
        [parsed(good("swaplab-app").replace('{ swap = "zram:size=16MiB" }', f'{{ swap = "none" }}, {designs}'))],
        Options(dry_run=True, say=said.append),
    )
    text = "\n".join(said)
    for change in ("hot_add", "hot_remove", "mkswap", "losetup --find", "fallocate --length 16777216", "swapoff", "umount", "as nobody: "):
        assert change in text
    assert result.rows == []


def test_every_preset_of_this_world_is_valid():
    for name in LIVE:
        wanted = experiments.read(name)
        experiments.refuse(wanted, name)
        assert wanted.name == name and "kernel" in wanted.run.on and len({of.design.name for of in configurations([wanted])}) >= 5
        assert set(kernel.needs(wanted)) > {"root"}
    assert len(apps.load_apps(experiments.read("swapbench"))) >= 8


def test_every_scheme_of_the_registry_for_this_world_is_implemented():
    from swaplab import _core

    rows = json.loads(_core.registry("schemes"))
    assert {row["key"] for row in rows if "kernel" in row["worlds"]} == set(SCHEMES)
    for row in rows:
        if row["key"] in SCHEMES:
            assert set(SCHEMES[row["key"]].honors) <= {one["name"] for one in row["parameters"]}


def test_only_dollar_names_of_known_values_are_replaced_in_an_app():
    app = apps.App(name="a", command=["x"], ready=[apps.Step(expect="x")], request=[apps.Step()], set={"n": "5"})
    assert app.fill("${n}$ $n a{1}", {}) == "5$ $n a{1}"
    with pytest.raises(BadInput, match=r"'\$\{m\}' is unknown; expected one of n"):
        app.fill("${m}", {})


class FakeGroup:
    path = Path("/nonexistent")


def kills_from(
    swap: int, files: int, usage: int, swapped: int, refaults: int = 0, swappable: int | None = None, spec: str = ""
) -> int | None:
    """Return the least `oom_score_adj` that may be killed in a group of 1000 kB; arguments are in
    thousands of KiB.
    """
    rule = KillerRule("here", json.dumps(spec or "lmkd:psi_partial_stall_ms=0,psi_complete_stall_ms=4000000000"), 1000 * 1024)
    one = killer.LowMemoryKiller(rule, FakeGroup(), 1000 * 1024, swap * 1024, lambda least: [], lambda: swappable)
    stat = {"active_file": files * 1024, "inactive_file": 0, "swap": swapped * 1024, "workingset_refault_file": 0}
    one.kills_from(10.0, stat, usage * 1024)
    return one.kills_from(10.5, stat | {"workingset_refault_file": refaults}, usage * 1024)


def test_the_killer_applies_the_rule_to_the_group_s_counts():
    assert kills_from(swap=100, files=0, usage=990, swapped=89) is None  # 11 % of swap is free
    assert kills_from(swap=100, files=0, usage=990, swapped=91) == 201
    # a tenth of memory is free, the limit is 6 %
    assert kills_from(swap=100, files=0, usage=900, swapped=91) is None
    # file pages can be dropped
    assert kills_from(swap=100, files=50, usage=950, swapped=91) is None
    # no app may be swapped out
    assert kills_from(swap=100, files=0, usage=990, swapped=0, swappable=1000) == 201
    # 3 refaults of 1 page
    assert kills_from(swap=100, files=4, usage=990, swapped=0, refaults=3) == 201
    assert kills_from(swap=100, files=4, usage=990, swapped=0, refaults=1) is None
    assert kills_from(swap=100, files=400, usage=600, swapped=91, refaults=300) == 201
    # lmkd alone does not kill for memory without swap
    assert kills_from(swap=0, files=0, usage=990, swapped=0) is None
    assert kills_from(swap=0, files=0, usage=950, swapped=0, spec="minfree:minfree_kb=[60],adj=[900]") == 900
    assert kills_from(swap=0, files=0, usage=900, swapped=0, spec="minfree:minfree_kb=[60],adj=[900]") is None
    assert kills_from(swap=0, files=0, usage=999, swapped=0, spec="off") is None


class FakeProcess:
    def __init__(self, group: "Swappable"):
        self.alive, self.group = True, group


class Swappable:
    """A group that stores the last decision."""

    allowed: bool | None = None

    def swap_allowed(self, allowed: bool, swappiness: int) -> None:
        self.allowed = allowed
        assert swappiness == 60

    def stat(self) -> dict[str, int]:
        return {"anon": 7}


def test_apps_are_steered_by_their_launches():
    """The paper's example: 3 launches, average distance 4, 10 launches since: (3 x 4 + 10) / 4 =
    5.5.
    """
    processes = [FakeProcess(Swappable()) for _ in range(11)]
    for spec, first in (("lvsp:t_reuse=5.6", True), ("lvsp:t_reuse=5.4", False), ("ess:t_live=11", False), ("ess:t_live=12", True)):
        one = steering.Steering(AppPolicyRule("here", json.dumps(spec)), processes, 60, True)
        for name in ["a", *"bcde", "a", *"bcde", "a", *"bcdefghijk"]:
            one.launched(processes[ord(name) - ord("a")])
        one.apply()
        assert processes[0].group.allowed is first, spec
        assert one.swappable_bytes() == 7 * sum(process.group.allowed for process in processes)
        if spec.startswith("lvsp"):
            assert processes[10].group.allowed is False  # launched once, less than T_launched
    assert steering.Steering(AppPolicyRule("here", '"none"'), processes, 60, True).swappable_bytes() is None


def test_statistics_by_hand():
    assert [quantile([4, 1, 3, 2], share) for share in (0.0, 0.5, 0.51, 1.0)] == [1, 2, 3, 4]
    assert quantile([1, 2, 3, 4, 5], 0.95) == 5 and quantile([7], 0.5) == 7
    samples = [("a", 1.0), ("a", 2.0), ("b", 3.0), ("b", 100.0)]
    found = launch_figures.spread(samples, seed=1)
    assert (found.n, found.p50, found.mean) == (4, 2.0, 26.5) and launch_figures.medians(samples) == {"a": 1.5, "b": 51.5}
    assert found.p50_interval == (1.0, 3.0)  # both apps, or one of them twice
    assert launch_figures.spread([], 1) is None and launch_figures.spread([("a", 1.0)], 1).p50_interval is None
    assert launch_figures.outliers([1.0] * 9 + [9.0]) == [9.0]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_lies_among_the_values(values: list[float], share: float):
    assert min(values) <= quantile(values, share) <= max(values)


def test_kernel_texts_are_read():
    assert counters.pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 total=7\n") == {"some": 12, "full": 7}
    assert table("pswpin 3\npswpout 44\nnot a number\n") == {"pswpin": 3, "pswpout": 44}
    text = """# tracer: nop
 swaplab-app-1021  [001] d..1.   83.123456: block_rq_issue: 254,0 WS 4096 () 8 + 8 [swaplab-app]
   kworker/0:1-77  [000] .....   83.200000: block_rq_complete: 254,0 WS () 8 + 8 [0]
"""
    found = events.parse(text)
    assert [(event.name, event.process, event.time_s) for event in found] == [
        ("block_rq_issue", 1021, 83.123456),
        ("block_rq_complete", 77, 83.2),
    ]
    assert events.count(found) == {"block_rq_complete": 1, "block_rq_issue": 1}


def test_launch_orders_are_drawn_by_popularity_and_reproducible():
    text = good().replace('{ use = "redis" }', '{ use = "swaplab-app", name = "app", count = 26 }')
    wanted = parsed(text.replace("rounds = 2", "order = { launches = 256, alpha = 1.57, seed = 3 }"))
    of = apps.load_apps(wanted)
    assert [app.name for app in of][:2] == ["app-1", "app-2"] and of[4].set["seed"] == "5"
    table = apps.launch_table(wanted)
    order = apps.launch_order(table, of)
    assert len(order) == 256 and order == apps.launch_order(table, of)
    assert all(first != second for first, second in zip(order, order[1:], strict=False))
    assert order.count("app-1") > order.count("app-5") > order.count("app-26")
    assert apps.launch_order(table.model_copy(update={"order": "round-robin"}), of) == [app.name for app in of]


def test_launch_times_are_classified_as_tolia_does():
    found = launch_figures.classes([150, 151, 1000, 1999, 5000, 5001], 2)
    assert (found.crisp, found.noticeable, found.annoying, found.unacceptable, found.unusable) == (0.5, 1, 0.5, 0.5, 0.5)
