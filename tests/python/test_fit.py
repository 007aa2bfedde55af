"""`swaplab trace fit phone`: a phone fitted to memory samples, validated on a recording of another
configuration.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import documents as d
import pytest
from swaplab import BadInput
from swaplab.analysis import fit
from swaplab.core import experiment as experiments
from swaplab.core.model import AppModels, Experiment

#: Apps of the simple phone below: anonymous, file and graphics MiB.
SIZES = {
    "maps": (90, 40, 20),
    "chat": (30, 20, 10),
    "game": (160, 60, 60),
    "news": (40, 30, 10),
    "mail": (35, 25, 10),
    "shop": (60, 45, 20),
}
#: Additional memory of the phone: kernel and daemons.
HIDDEN, DAEMON = 200, 100


def plain_phone(dram: int, launches: int) -> Iterator[str]:
    """Generate samples, in the format of shell commands, of a phone without swap that kills the
    least recently used apps.
    """
    alive: list[str] = []
    for number in range(launches):
        # The user mostly returns to the same few apps.
        app = list(SIZES)[(number * number + number // 5) % len(SIZES)]
        now = number * 20
        if app in alive:
            alive.remove(app)
        else:
            yield f"@ {now} start {app}"
        alive.append(app)
        while sum(sum(SIZES[a]) for a in alive) + HIDDEN + DAEMON > dram:
            victim = alive.pop(0)
            yield f"@ {now} kill {victim}"
        yield f"@ {now + 1} launch {app} 15"
        yield f"@ {now + 5}"
        yield from (f"MemTotal:  {dram << 10} kB", "SwapTotal:  0 kB", f"pgmajfault {number * 7}", "process 1 daemon -800")
        yield from ("Rss: 102400 kB", f"Anonymous: {DAEMON << 10} kB", "Pss_File: 1024 kB", "Swap: 0 kB")
        for name in alive:
            anon, file, graphics = SIZES[name]
            yield f"process 7 {name} {0 if name == app else 900 + 5 * (len(alive) - alive.index(name))}"
            # One app has a dumpsys summary, the others have smaps_rollup.
            if name == "maps":
                yield f"** MEMINFO in pid 7 [{name}] **"
                yield from (f"   Java Heap:  {(anon - 10) << 10}   99", "   Native Heap:  9216   99", "   Stack: 1024  99")
                yield from (f"   Code: {file << 10}  99", f"   Graphics: {graphics << 10}  99")
                yield "   TOTAL PSS:  1   TOTAL RSS:  2   TOTAL SWAP PSS:  0"
            else:
                yield from (f"Anonymous: {anon << 10} kB", f"Pss_File: {file << 10} kB", "Swap: 0 kB", f"Graphics: {graphics << 10} kB")


def recording(folder: Path, dram: int) -> Path:
    path = folder / f"phone-{dram}.txt"
    path.write_text("\n".join(plain_phone(dram, 80)) + "\n")
    return path


def test_a_simulated_phone_has_the_units_of_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    row = d.phone_row("x", [1.0], paging={"swap_in_bytes": 3 << 20, "swap_out_bytes": 2 << 20})
    monkeypatch.setattr(fit, "run_experiment", lambda wanted, place: SimpleNamespace(document=d.document([row])))
    paths = ("launches.kills", "launches.resumes", "paging.swap_in_bytes", "paging.swap_out_bytes")
    assert [fit.simulate(Experiment())[path] for path in paths] == [3, 8, 3, 2]


def test_a_recording_is_read_with_the_values_written(tmp_path: Path) -> None:
    path = recording(tmp_path, 620)
    found = fit.read(path, "{}")
    assert {app.name: (app.anon_mib, app.file_mib, app.graphics_mib) for app in found.apps} == SIZES
    assert (found.system.anon_mib, found.system.file_mib) == (DAEMON, 1)
    text = path.read_text()
    assert found.kills == text.count(" kill ") > 10
    assert found.cold.count == text.count(" start ")
    assert found.cold.count + found.resumes.count == 80
    assert sum(found.kills_by_adjustment.values()) == found.kills
    # Most killed apps are cached, some are the previous one.
    cached = sum(count for adjustment, count in found.kills_by_adjustment.items() if adjustment > 900)
    assert set(found.kills_by_adjustment) > {0} and cached > found.kills / 2
    assert (found.mem_total_mib, found.swap_total_mib, found.swap_in_pages) == (620, 0, None)


def test_every_app_keeps_its_own_size(tmp_path: Path) -> None:
    """Apps of different sizes, such as 900 and 180 MiB, are not merged into size classes."""
    wanted = fit.experiment(recording(tmp_path, 700), "{}", "zram")
    apps = wanted.workload.apps
    assert isinstance(apps, AppModels)
    assert {name: (model.anon, model.file, model.graphics) for name, model in apps.models.items()} == {
        name: (f"{anon}MiB", f"{file}MiB", f"{graphics}MiB") for name, (anon, file, graphics) in SIZES.items()
    }
    assert apps.by_name == {name: name for name in SIZES} and apps.spread == 0
    assert (wanted.machine.dram, wanted.machine.firmware, wanted.design[0].swap) == ("700MiB", "0", "none")
    assert experiments.parse(experiments.toml(wanted), "phone.toml").workload == wanted.workload


def kills_above(limit_mib: float) -> fit.Simulate:
    """Make a simulator with a kill per 10 MiB by which the kernel exceeds `limit_mib`, and that
    does not boot with 600 MiB or more.
    """

    def run(wanted: Experiment) -> dict[str, float]:
        text = wanted.machine.kernel_reserved
        kernel = float(text.removesuffix("MiB")) if text.endswith("MiB") else float(text.removesuffix("B")) / 2**20
        if kernel >= 600:
            raise BadInput("no room")
        kills = float(max(0.0, (kernel - limit_mib) // 10))
        return {path: kills if path == "launches.kills" else 1.0 for path, _, _ in fit.COMPARED}

    return run


def test_calibration_bisects_until_kills_agree(tmp_path: Path) -> None:
    place = recording(tmp_path, 700)
    twelve = fit.read(place, "{}").model_copy(update={"kills": 12})
    found = fit.calibrate(fit.experiment(place, "{}", "zram"), twelve, kills_above(300))
    reserved = found.machine.kernel_reserved
    mib = float(reserved.removesuffix("MiB")) if reserved.endswith("MiB") else float(reserved.removesuffix("B")) / 2**20
    assert 420 <= mib < 430
    # Where no size gives the kills, the first one that was tried stays: half of what leaves 64 MiB.
    none = fit.calibrate(fit.experiment(place, "{}", "zram"), twelve, kills_above(1000))
    assert none.machine.kernel_reserved == f"{318 << 20}B"


def test_a_fit_states_its_errors(tmp_path: Path) -> None:
    """The experiment's `about` states the errors, which plans and recommendations repeat."""
    place, other = recording(tmp_path, 700), recording(tmp_path, 600)
    found = fit.fit(place, "{}", "zram", [], [other], kills_above(0))
    assert [row.error for row in found.rows if row.path == "launches.kills"] == [pytest.approx(0, abs=0.05)]
    assert "Fitted to phone-700.txt: kills" in found.experiment.about and "Kept out, phone-600.txt (600 MiB)" in found.experiment.about
    alone = fit.fit(place, "{}", "zram", run=kills_above(300))
    assert "nothing says how well it predicts" in alone.experiment.about


#: A machine of 400 MiB. Its kernel takes 50 MiB and a third of the bytes in swap, which are 60 and
#: then 90 MiB. An app of 100 MiB is resumed while 60 MiB of it are in swap.
COUNTERS = """@ 0
MemTotal: 409600 kB
MemFree: 153600 kB
Buffers: 10240 kB
Cached: 92160 kB
SwapTotal: 131072 kB
SwapFree: 69632 kB
AnonPages: 81920 kB
pswpin 0
pswpout 15360
process 9 maps 900
Pss_File: 40960 kB
Anonymous: 40960 kB
Swap: 61440 kB
@ 1 launch maps 5
@ 3
MemTotal: 409600 kB
MemFree: 143360 kB
Buffers: 10240 kB
Cached: 92160 kB
SwapTotal: 131072 kB
SwapFree: 38912 kB
AnonPages: 81920 kB
pswpin 7680
pswpout 23040
process 9 maps 0
Pss_File: 40960 kB
Anonymous: 71680 kB
Swap: 30720 kB
@ 9
pswpin 7680
"""


def test_values_known_from_counters_are_not_fitted(tmp_path: Path) -> None:
    place = tmp_path / "counted.txt"
    place.write_text(COUNTERS)
    found = fit.read(place, "{}")
    assert found.kernel is not None and (found.kernel.mib, found.kernel.pool_share) == (pytest.approx(50), pytest.approx(1 / 3))
    assert (found.swap_in_pages, found.resume_share) == (7680, 0.5)
    wanted = fit.experiment(place, "{}", "zram:algorithm=lz4", ["machine.kernel.swappiness=60", "design.recorded.killer=off"])
    assert (wanted.machine.kernel_reserved, wanted.machine.kernel.swappiness, wanted.machine.dram) == ("50MiB", 60, "400MiB")
    assert (wanted.design[0].swap, wanted.design[0].killer) == ("zram:algorithm=lz4,size=128MiB", "off")
    plain = fit.experiment(place, "{}", "zram", ["machine.base=plain"])
    assert (plain.machine.base, wanted.machine.limits.cached, plain.machine.limits.cached) == ("plain", 16, None)

    def run(tried: Experiment) -> dict[str, float]:
        apps = tried.workload.apps
        assert isinstance(apps, AppModels)
        return {path: 100 * apps.resume_share if "swap_in" in path else 0.0 for path, _, _ in fit.COMPARED}

    fitted = fit.calibrate(wanted, found, run)
    apps = fitted.workload.apps
    assert isinstance(apps, AppModels) and apps.resume_share == pytest.approx(0.3, abs=0.002), "30 MiB came back"
    assert apps.warm_share == 0
    assert fitted.machine == wanted.machine


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@ 5\n@ 4\n", "line 2: 4 s after 5 s; expected times that do not run backwards"),
        ("@ 5 coffee maps\n", "line 1: '@ 5 coffee maps'; expected @ SECONDS"),
        ("@ 5\nprocess 7\n", "line 2: 'process 7'; expected process PID APP"),
        ("@ 5\nprocess 7 maps\nAnonymous: 12 kB\n", "no launch in it"),
        ("@ 5 launch maps\nprocess 7 maps\nAnonymous: 12 kB\n", "no MemTotal in it"),
    ],
)
def test_bad_recordings_are_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "r.txt"
    path.write_text(text)
    with pytest.raises(BadInput) as refused:
        fit.read(path, '{"format": "memory-samples"}')
    assert expected in str(refused.value) and "\n" not in str(refused.value)
