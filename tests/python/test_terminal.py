"""What commands print on the terminal without `--json`: their tables and sentences, with the
analysis replaced or on computed documents.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import documents as d
import pytest
from command import ROOT, Done, here
from swaplab.analysis import fit
from swaplab.analysis.papers import Claim, Judged
from swaplab.analysis.sensitivity import Conclusion, Phone, Sensitivity
from swaplab.cli import doctor as doctor_command
from swaplab.cli import top as top_command
from swaplab.cli.papers import claims as claims_command
from swaplab.cli.show import show
from swaplab.core import experiment as experiments
from swaplab.core.model import Document, MappedReads
from swaplab.worlds.capabilities import Capability
from swaplab.worlds.kernel import journal
from swaplab.worlds.memory import pager
from swaplab.worlds.vm import ab, kernels


def shown(document: Document, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show(document)
    return capsys.readouterr().out.splitlines()


def cells(line: str) -> list[str]:
    """Split a line of a table, whose columns are two spaces apart or more."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_phone_is_shown_with_intervals_and_marks(capsys: pytest.CaptureFixture[str]) -> None:
    sure = d.phone_row("now", [100.0, 140.0], half=20.0)
    refused = d.phone_row(
        "big", [90.0], invalid="ended early", energy=None, launches=d.launches(90.0).model_copy(update={"delay_ms": None})
    )
    title, head, first, second, note = shown(d.document([sure, refused]).model_copy(update={"warnings": ["two users"]}), capsys)
    assert title == "phone (simulated); large" and note == "note: two users"
    assert cells(head)[:8] == ["design", "point", "launches", "cold", "kills", "delay ms", "p95 ms", "swap-in MiB"]
    assert cells(first) == ["now", "-", "10", "2", "3.0", "120.0 [100.0, 140.0]", "240.0", "1.0", "2.0", "-", "1.0", "1,024", "-"]
    assert cells(second)[:7] == ["big !", "-", "10", "2", "3.0", "-", "-"] and cells(second)[-3] == "-"


def test_worlds_are_shown_one_after_the_other_and_kinds_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    reads = MappedReads(cache_bytes=512 << 10, delay_ms=d.spread(33.0), line_ns=150.0, loads=12_345.0, misses=678.0, visit_misses=4.5)
    read = d.kernel_row("nvm-direct", 32.0, world="vm", kind="virtual")
    assert read.kernel is not None
    counted = read.model_copy(update={"kernel": read.kernel.model_copy(update={"mapped_reads": reads})})
    out = shown(d.document([d.kernel_row("zram", 40.0), counted]), capsys)
    assert [line for line in out if ";" in line and not line.startswith("nvm")] == [
        "kernel (measured); mail, maps",
        "vm (virtual); mail, maps",
    ]
    assert out[-1] == (
        "nvm-direct: 12,345 loads from mapped NVM, 678 beyond a cache of 512 KiB; with 4.5 of visits at 150 ns, the mean delay is 33.0 ms"
    )


def test_a_replay_is_shown_relative_to_the_first_design_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        d.replayed("clock", 100, "10%", (1000, 0, 0, 0)),
        d.replayed("lru", 100, "10%", (1500, 0, 0, 0), limited=True).model_copy(update={"invalid": "below the filter"}),
        d.replayed("lru", 200, "20%", (500, 0, 0, 0)),
    ]
    lines = [cells(line) for line in shown(d.document(rows), capsys)[2:]]
    assert [(line[0], line[1], line[2], line[8]) for line in lines] == [
        ("clock", "dram 10%", "1,000", "1.000"),
        ("lru *", "dram 10%", "1,500", "1.500"),
        ("lru", "dram 20%", "500", "1.000"),
    ]
    assert lines[0][7] == f"{1000 * 5263 / 1e9:.3f}"


def test_what_was_not_counted_is_a_dash_and_swap_outs_stand_for_swap_writes(capsys: pytest.CaptureFixture[str]) -> None:
    row = d.program_row("zram", 2.0)
    line = cells(shown(d.document([row]), capsys)[2])
    # Faults, copied pages, 200 pages of swap-out, file reads, direct reads, I/O time and its ratio.
    assert line[2:9] == ["-", "100", "200", "-", "10", "-", "-"]


def comparison(verdict: ab.Verdict) -> ab.Comparison:
    row = ab.Difference(
        design="zram", base_ms=20.0, series_ms=18.5, difference_ms=-1.5, interval_ms=(-2.0, -1.0), noise_ms=(-0.1, 0.25), verdict=verdict
    )
    return ab.Comparison(base="a", series="b", rows=[row], lacks={"b": ["CONFIG_ZSWAP"]})


@pytest.mark.parametrize("verdict", list(ab.Verdict))
def test_a_patch_series_is_judged_by_exit_code_and_sentence(verdict: ab.Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []
    monkeypatch.setattr(ab, "compare_commits", lambda *given: asked.extend(given) or comparison(verdict))
    done = here("kernel", "ab", ROOT / "examples" / "vm.toml", "--tree", tmp_path, "--base", "v1", "--series", "v2", "--jobs", "3")
    assert (done.code, asked[:3], asked[5]) == (verdict.value, [tmp_path, "v1", "v2"], 3), done
    assert done.out.splitlines() == [
        f"zram: {verdict.name.lower().replace('_', ' ')}: mean launch 20.00 -> 18.50 ms (virtual), "
        "difference -1.50 [-2.00, -1.00]; base against base -0.10 to +0.25",
        "b lacks CONFIG_ZSWAP",
    ]


def test_kernels_are_listed_with_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built = SimpleNamespace(name="mine", release="6.12.9", image=Path("/cache/mine/Image"))
    monkeypatch.setattr(kernels, "installed", lambda: [built])
    lines = here("kernel", "list").out.splitlines()
    assert len(lines) == len(kernels.SERIES) + 1
    assert lines[-1].split() == ["mine", "6.12.9", "/cache/mine/Image"]
    assert all(line.endswith("  downloaded by the first run that names it") for line in lines[:-1])
    rows = here("kernel", "list", "--json").document
    assert rows[-1] == {"name": "mine", "release": "6.12.9", "image": "/cache/mine/Image"}
    assert rows[0] == {"name": next(iter(kernels.SERIES)), "release": None, "image": None}


def examined(monkeypatch: pytest.MonkeyPatch, *options: str) -> Done:
    listed = [Capability("root", True, (), "the user is root"), Capability("zram", False, ("kernel: zram", "vm"), "no module")]
    monkeypatch.setattr(doctor_command, "capabilities", lambda probes=None: listed if probes is None else [])
    return here("doctor", *options)


def test_doctor_says_what_is_lacking_and_what_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "orphaned_journals", lambda: [Path("/run/swaplab/1.json")])
    done = examined(monkeypatch)
    assert done.code == 0 and done.out.splitlines() == [
        "yes root  the user is root",
        "no  zram  no module",
        "          lacking: kernel: zram, vm",
    ]
    assert done.err == "a crashed run left changes (/run/swaplab/1.json): run `swaplab doctor --repair`\n"


@pytest.mark.parametrize(("dry", "verb"), [(False, "undone"), (True, "would undo")])
def test_doctor_names_what_it_undid_and_fails_if_something_is_left(dry: bool, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def repair(say, is_dry: bool) -> list[str]:
        assert is_dry == dry
        say("swappiness = 60")
        return ["/dev/zram1 is busy"]

    monkeypatch.setattr(journal, "orphaned_journals", list)
    monkeypatch.setattr(journal, "repair", repair)
    done = examined(monkeypatch, "--repair", *["--dry-run"] * dry)
    assert done.code == 1 and done.out.splitlines()[-1] == f"{verb}: swappiness = 60"
    assert done.err == "swaplab: not undone: /dev/zram1 is busy\n"
    monkeypatch.setattr(journal, "repair", lambda say, is_dry: [])
    done = examined(monkeypatch, "--repair")
    assert done.code == 0 and done.out.splitlines()[-1] == "nothing to repair"


@pytest.mark.parametrize("target", ["adb:1", "phone", "vm"])
def test_doctor_refuses_a_repair_of_a_phone_and_other_targets(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    examined(monkeypatch, "--target", target, "--repair").refuses("target")


def claim(text: str, verdict: Judged, ours: str | None = "2") -> Claim:
    return Claim(paper="p", claim=text, published="1", ours=ours, band=None, verdict=verdict, why="so it is")


def test_claims_are_printed_with_a_count_of_each_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [claim("fewer faults", "reproduced"), claim("less energy", "reproduced"), claim("longer life", "arithmetic", ours=None)]
    monkeypatch.setattr(claims_command.paper_claims, "check", lambda names, vm: claims)
    lines = here("papers", "check", "p").out.splitlines()
    assert lines[:2] == ["p: fewer faults", "    published 1; ours 2; reproduced: so it is"]
    assert lines[-2:] == ["    published 1; ours -; arithmetic: so it is", "3 claims: 2 reproduced, 1 arithmetic"]


def test_conclusions_are_printed_with_the_range_of_their_ratios(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def conclusion(text: str, least: float | None, holds: int) -> Conclusion:
        most = None if least is None else 2 * least
        return Conclusion(
            claim=text, of="a", than="b", what="launches.kills", holds=holds, phones=4, least=least, most=most, stated=holds == 4
        )

    conclusions = [conclusion("a kills less", 0.25, 4), conclusion("b kills", None, 0)]
    phone = Phone(parameter="bus", end="low", set={}, unfit=False, ratios=[0.25, None])
    result = Sensitivity(paper="p", preset="quick", seeds=1, conclusions=conclusions, phones=[phone])
    monkeypatch.setattr(claims_command.sensitivity_analysis, "read_sensitivity", lambda name: name)
    monkeypatch.setattr(claims_command.sensitivity_analysis, "sensitivity", lambda name, file, seeds, listener: result)
    done = here("papers", "sensitivity", "p")
    assert done.out.splitlines() == [
        "holds: a kills less (4 of 4 phones, ratio 0.250 to 0.500)",
        "not stated: b kills (0 of 4 phones, nothing to compare)",
        "simulated: quick, 1 seed, one assumed parameter at a time",
    ]
    assert here("papers", "sensitivity", "p", "--json").document == result.model_dump(mode="json")


def test_top_lists_the_running_processes_of_all_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ("dram_limit_bytes", "nvm_bytes", "flash_bytes", "swap_outs", "direct_reads", "copied_pages", "pager_cpu_ns")
    counters = dict.fromkeys(names, 0) | {"state": pager.RUNNING, "dram_bytes": 3 << 20, "nvm_bytes": 1 << 20, "flash_bytes": 1 << 19}
    runs = {"7": [(os.getpid(), counters | {"swap_outs": 12_345})], "8": [(os.getpid(), counters | {"state": 2}), (2**22 + 1, counters)]}
    for name in (*runs, "other"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(pager, "runs_directory", lambda: tmp_path)
    monkeypatch.setattr(pager, "processes", lambda run: [pager.Process(pid, counted) for pid, counted in runs[run.name]])
    # The second process has ended, and the third is no longer there.
    assert [counted["swap_outs"] for counted in here("top", "--json").document["processes"]] == [12_345]
    monkeypatch.setenv("COLUMNS", "200")
    [row] = [line for line in here("top", "--once").out.splitlines() if str(os.getpid()) in line]
    assert [cell.strip() for cell in row.strip("│").split("│")][2:6] == ["3.0", "0.0", "1.5", "12,345"]
    assert top_command._table([]).row_count == 0


def test_a_fitted_phone_is_shown_with_its_recording_and_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recording = fit.Recording(
        seconds=60.0,
        mem_total_mib=1024.0,
        swap_total_mib=None,
        kernel=None,
        cold=fit.Starts(count=2, major_faults=1500.0, swapped_in_pages=2.5),
        resumes=fit.Starts(count=1, major_faults=None, swapped_in_pages=None),
        kills=3,
        kills_by_adjustment={900: 2, 905: 1},
        swap_in_pages=None,
        swap_out_pages=None,
        apps=[fit.AppMemory(name="maps", launches=4, cold_starts=2, kills=3, anon_mib=100.25, file_mib=50.0, graphics_mib=0.0)],
        system=fit.AppMemory(name="system", launches=0, cold_starts=0, kills=0, anon_mib=0.0, file_mib=0.0, graphics_mib=8.0),
        resume_share=None,
    )
    rows = [
        fit.FitRow(path="launches.kills", what="kills", recorded=3.0, simulated=4.5, error=0.5),
        fit.FitRow(path="paging.swap_in_bytes", what="swapped in", recorded=None, simulated=7.0, error=None),
    ]
    other = fit.HeldOut(recording="/phones/second.txt", mem_total_mib=2048.4, rows=rows[:1])
    fitted = fit.Fit(recording=recording, experiment=experiments.read("quick"), rows=rows, held_out=[other])
    monkeypatch.setattr(fit, "fit", lambda *given: fitted)
    (tmp_path / "first.txt").write_text("")
    done = here("trace", "fit", "phone", tmp_path / "first.txt", "-o", tmp_path / "phone.toml")
    lines = done.out.splitlines()
    assert [cells(line) for line in lines[1:3]] == [
        ["maps", "4", "2", "3", "100.2", "50.0", "0.0"],
        ["system", "0", "0", "0", "0.0", "0.0", "8.0"],
    ]
    assert lines[3:] == [
        "2 cold starts, each with 1,500.0 major faults and 2.5 pages swapped in",
        "1 resume",
        "3 kills: 2 at 900, 1 at 905",
        "  kills             3.0 recorded, 4.5 simulated (+50.0%)",
        "  swapped in        not recorded, 7.0 simulated",
        "Kept out, second.txt, 2048 MiB:",
        "  kills             3.0 recorded, 4.5 simulated (+50.0%)",
        f"simulated phone in {tmp_path / 'phone.toml'}",
    ]
    written = (tmp_path / "phone.toml").read_text()
    head = "# Fitted by `swaplab trace fit phone` to first.txt: kernel_reserved by kills, resume_share by swap-ins.\n"
    assert written.startswith(head) and "#   swapped in        not recorded, 7.0 simulated\n" in written
    assert experiments.read(tmp_path / "phone.toml").machine == fitted.experiment.machine
