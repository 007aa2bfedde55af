"""`swaplab fit`: a phone from samples of its memory, judged by a recording of another configuration."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from swaplab import fit

SWAPLAB = Path(sys.executable).parent / "swaplab"

#: Apps of the plain phone below: anonymous, file and graphics MiB.
SIZES = {
    "maps": (90, 40, 20),
    "chat": (30, 20, 10),
    "game": (160, 60, 60),
    "news": (40, 30, 10),
    "mail": (35, 25, 10),
    "shop": (60, 45, 20),
}
#: Kernel and daemons, which the phone has besides.
HIDDEN, DAEMON = 200, 100


def plain_phone(dram: int, launches: int) -> Iterator[str]:
    """A phone without swap that keeps the apps that fit and kills the least recently used: samples of it as shell commands print them."""
    alive: list[str] = []
    for number in range(launches):
        # Returns to the same few apps, and now and then to the others.
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
            # A dumpsys summary for one app, smaps_rollup for the others.
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


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = recording(tmp_path, 620)
    found = fit.read(path, "{}")
    assert {app["name"]: (app["anon_mib"], app["file_mib"], app["graphics_mib"]) for app in found["apps"]} == SIZES
    assert (found["system"]["anon_mib"], found["system"]["file_mib"]) == (DAEMON, 1)
    text = path.read_text()
    assert found["kills"] == text.count(" kill ") > 10
    assert found["cold"]["count"] == text.count(" start ")
    assert found["cold"]["count"] + found["resumes"]["count"] == 80
    assert sum(found["kills_by_adjustment"].values()) == found["kills"]
    # Cached apps, and now and then the one that was in front a moment ago.
    cached = sum(count for adjustment, count in found["kills_by_adjustment"].items() if int(adjustment) > 900)
    assert set(found["kills_by_adjustment"]) > {"0"} and cached > found["kills"] / 2
    assert (found["mem_total_mib"], found["swap_total_mib"], found["swap_in_pages"]) == (620, 0, None)


def test_a_phone_fitted_to_one_configuration_predicts_another(tmp_path: Path) -> None:
    fitted, other, more = recording(tmp_path, 700), recording(tmp_path, 600), recording(tmp_path, 1500)
    out = tmp_path / "phone.toml"
    line = [SWAPLAB, "fit", fitted, "-o", out, "--predict", other, "--predict", more, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)

    def rows(of: list[dict[str, object]]) -> dict[str, dict[str, object]]:
        return {str(row["what"]): row for row in of}

    inside, less = rows(document["fit"]), rows(document["held_out"][0]["rows"])
    plenty = rows(document["held_out"][1]["rows"])
    # The one value that is fitted makes kills agree; starts follow from it.
    assert abs(inside["kills"]["error"]) < 0.15 and abs(inside["cold_starts"]["error"]) < 0.2, inside
    # With less memory the plain phone kills more, and so says the fitted one, without having seen it.
    assert less["kills"]["recorded"] > inside["kills"]["recorded"]
    assert less["kills"]["simulated"] > inside["kills"]["simulated"]
    assert abs(less["kills"]["error"]) < 0.35, less
    # Where everything fits, nothing is killed and each app starts once.
    assert (plenty["kills"]["recorded"], plenty["kills"]["simulated"], plenty["kills"]["error"]) == (0, 0, None)
    assert plenty["cold_starts"]["simulated"] == plenty["cold_starts"]["recorded"] == len(SIZES)

    sim = tomllib.loads(out.read_text())["sim"]
    assert sim["phone"]["dram_mib"] == 700 and sim["launches"] == fitted.name and sim["schemes"][0]["swap"] == "none"
    sizes = sorted(sim["apps"][kind]["anon_mib"] for kind in ("light", "medium", "heavy", "game"))
    assert sizes[0] == 30 and sizes[-1] == pytest.approx((90 + 160) / 2)
    assert "Kept out" in out.read_text() and "assumed" in out.read_text()
    ran = subprocess.run([SWAPLAB, "sim", out, "--json"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["schemes"][0]["kills"] == pytest.approx(inside["kills"]["simulated"])


def test_calibration_halves_until_kills_agree() -> None:
    """A phone that kills once for each 10 MiB by which the kernel exceeds 300, and does not boot from 700 on."""

    def run(table: dict[str, dict[str, float]]) -> dict[str, float]:
        kernel = table["phone"]["kernel_mib"]
        if kernel >= 700:
            raise fit.BadInput("no room")
        return {"kills": max(0.0, (kernel - 300) // 10)}

    found = fit.calibrate({"phone": {"dram_mib": 1064.0, "kernel_mib": 163.0}}, 12, run)
    assert 420 <= found < 430


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
    line = [SWAPLAB, "fit", path, "--format", "memory-samples", "-o", tmp_path / "p.toml"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert expected in done.stderr and not (tmp_path / "p.toml").exists()
