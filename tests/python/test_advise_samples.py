"""What `advise` says of samples of a phone's memory alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import here
from swaplab.analysis.memory_samples import Moment, advise
from swaplab.core import memory_samples

#: A phone of 8 GiB with 4 GiB of swap, in kB.
TOTAL, SWAP = 7_340_032, 4_194_304


def meminfo(free: int, available: int, swap_free: int, inactive_file: int = 800_000) -> str:
    sizes = {"MemTotal": TOTAL, "MemFree": free, "MemAvailable": available, "SwapCached": 7, "Inactive(file)": inactive_file}
    sizes |= {"SwapTotal": SWAP, "SwapFree": swap_free}
    return "".join(f"{name + ':':16}{size:>9} kB\n" for name, size in sizes.items())


def pressure(total_us: int) -> str:
    return f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total_us}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"


def vmstat(direct: int, kswapd: int, out: int) -> str:
    return (
        f"pswpin 5\npswpout {out}\nallocstall_normal {direct}\npgscan_kswapd {kswapd}\npgscan_direct {direct}\npgscan_direct_throttle 99\n"
    )


def written(path: Path, *samples: str) -> Path:
    path.write_text("".join(samples))
    return path


def test_a_phone_whose_tasks_wait_is_tight_and_every_figure_is_that_of_the_samples(tmp_path: Path) -> None:
    """Between the samples, at 10, 12 and 14 s, tasks wait for 20 and for 160 ms: 10 and 80 ms a
    second. lmkd counts as free swap what is easily available: 100,000 + 200,000 kB of 4,194,304
    are 7.15 %.
    """
    text = [
        f"@ 10\n{meminfo(900_000, 2_000_000, SWAP)}{vmstat(0, 100, 0)}{pressure(1_000_000)}",
        f"@ 12\n{meminfo(300_000, 1_500_000, SWAP - 1_048_576)}{vmstat(0, 900, 3000)}{pressure(1_020_000)}",
        f"@ 14\n{meminfo(100_000, 734_003, SWAP - 2_097_152, 200_000)}{vmstat(64, 1900, 4000)}{pressure(1_180_000)}@ 14 kill maps\n",
    ]
    samples = memory_samples.read(written(tmp_path / "tight.txt", *text), "t_s")
    assert [sample.at_s for sample in samples.of] == [10, 12, 14] and samples.kills == 1
    found = advise(samples, Path("tight.txt"))
    assert found.was_tight is True and found.seconds == 4
    assert "direct reclaim" in found.verdict and "80 ms a second at most" in found.verdict and "from 70 ms on" in found.verdict
    said = "\n".join(found.findings)
    assert "least memory available for new apps without swapping (MemAvailable): 717 MiB, 10 % of MemTotal" in said
    assert "waited for memory for 180 ms in all, 4.50 % of the time" in said
    assert "kswapd scanned 1,800 pages" in said and "4,000 pages were written to swap" in said and "1 kill recorded" in said
    assert "4,096 MiB, 57 % of MemTotal; at most 2,048 MiB of it was used (50 %)" in found.zram
    assert "only 7.15 % of it counted as free" in found.zram and "try a larger area" in found.zram
    sizes = {"free_mib": 100_000 / 1024, "available_mib": 734_003 / 1024, "swap_used_mib": 2048}
    assert found.moments[2] == Moment(number=3, at_s=14, **sizes)


def test_a_phone_of_which_everything_is_known_and_nobody_waits_is_not_tight(tmp_path: Path) -> None:
    text = [f"@ {at}\n{meminfo(900_000, 2_000_000, SWAP)}{vmstat(3, 0, 0)}{pressure(500)}" for at in (1, 3)]
    found = advise(memory_samples.read(written(tmp_path / "calm.txt", *text), "t_s"), Path("calm.txt"))
    assert found.was_tight is False and "No sign that memory was tight: no task reclaimed for itself" in found.verdict
    assert "a larger area is not needed here" in found.zram and not any("whether memory was tight" in line for line in found.undecided)
    assert found.undecided[-1].endswith("or samples with the memory of each process (docs/how-to/capture.md)")


def test_meminfo_alone_in_a_folder_does_not_say_whether_memory_was_tight(tmp_path: Path) -> None:
    """Files are in the order of their numbers, and without times nothing is said per second."""
    for number, used in ((2, 0), (10, 419_430)):
        written(tmp_path / f"{number}.txt", meminfo(900_000, 2_000_000, SWAP - used))
    done = here("advise", tmp_path)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("Whether memory was tight is not known")
    assert "2 samples, at unknown times; MemTotal 7,168 MiB" in lines
    # 1,700,000 kB are easily available, of 4,194,304: 40.5 %.
    assert "at most 410 MiB of it was used (10 %)" in done.out and "at every sample 40.5 % of it or more counted as free" in done.out
    assert "not decided: whether memory was tight: sample /proc/pressure/memory and /proc/vmstat, too" in lines
    assert memory_samples.read(tmp_path, "t_s").of[1].values["SwapFree"] == (SWAP - 419_430) * 1024


def test_a_stall_at_lmkds_limit_is_a_sign(tmp_path: Path) -> None:
    for total, is_sign in ((70_000, True), (69_999, False)):
        text = [f"@ {at}\n{meminfo(900_000, 2_000_000, SWAP)}{pressure(stalled)}" for at, stalled in ((1, 0), (2, total))]
        found = advise(memory_samples.read(written(tmp_path / "x.txt", *text), "t_s"), Path("x.txt"))
        assert (found.was_tight is True) == is_sign


def test_of_samples_of_several_boots_only_the_order_is_known(tmp_path: Path) -> None:
    text = [f"@ {at}\n{meminfo(free, 2_000_000, SWAP)}" for at, free in ((500, 3), (20, 1), (40, 2))]
    samples = memory_samples.read(written(tmp_path / "boots.txt", *text), "t_s")
    assert [sample.at_s for sample in samples.of] == [None] * 3
    assert [sample.values["MemFree"] for sample in samples.of] == [3 * 1024, 1024, 2 * 1024]


def test_files_of_a_folder_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 100):
        # A digit that is no decimal one is no number.
        written(tmp_path / f"m²-{number}.txt", meminfo(number, 2_000_000, SWAP))
    samples = memory_samples.read(tmp_path, "t_s")
    assert [sample.values["MemFree"] // 1024 for sample in samples.of] == [9, 10, 100]


def test_dumpsys_says_what_zram_holds_and_what_android_calls_its_memory(tmp_path: Path) -> None:
    dump = """Applications Memory Usage (in Kilobytes):
Uptime: {at} Realtime: {at}

Total PSS by process:
    456,312K: system (pid 1612)

Total RAM: 7,817,024K (status {state})
 Free RAM: 3,283,431K (1,021,435K cached pss + 2,004,440K cached kernel +   257,556K free)
     ZRAM:   512,000K physical used for 1,536,000K in swap (4,194,300K total swap)
   Tuning: 256 (large 512), oom   322,560K, restore limit   107,520K (high-end-gfx)
"""
    text = written(tmp_path / "dump.txt", dump.format(at=5000, state="normal"), dump.format(at=65000, state="moderate"))
    done = here("advise", text, "--json", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["document"], found["was_tight"], found["samples"], found["seconds"]) == ("memory-samples", True, 2, 60)
    assert "Android called its memory 'moderate' at worst" in found["verdict"]
    assert "500 MiB of memory held 1,500 MiB, a ratio of 3.0" in found["zram"]
    none = dump.format(at=5000, state="normal").replace("512,000K physical used", "0K physical used")
    sampled = memory_samples.read(written(tmp_path / "none.txt", none), "t_s")
    assert "a ratio of" not in advise(sampled, Path("none.txt")).zram
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Samples of a phone" in page and "Memory and swap in each sample" in page
    # `report` reads the summary again.
    assert here("report", tmp_path / "out", "-o", tmp_path / "again.html").code == 0


def test_a_table_has_the_kernels_names_and_is_refused_with_its_place(tmp_path: Path) -> None:
    # Cells may be empty, and columns may be unknown.
    head = "note,when,MemTotal,MemAvailable,SwapTotal,SwapFree,psi_some_total\n"
    table = f"{head}a,0,{TOTAL},500000,{SWAP},{SWAP},0\n,2,{TOTAL},400000,{SWAP},{SWAP},200000\n"
    done = here("advise", written(tmp_path / "table.csv", table), "--columns", "time=when")
    sizes = [sample.values for sample in memory_samples.read(tmp_path / "table.csv", "when").of]
    assert [(one["MemAvailable"], one["psi_some_total"]) for one in sizes] == [(500_000 * 1024, 0), (400_000 * 1024, 200_000)]
    assert done.code == 0, done.err
    assert "Memory was tight: tasks waited for memory for 100 ms a second at most" in done.out
    bad = here("advise", written(tmp_path / "bad.csv", table.replace("400000", "few")), "--columns", "time=when")
    assert bad.code != 0 and "bad.csv:3: MemAvailable 'few'; expected a number of kB" in bad.err


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("@ 1\n** MEMINFO in pid 12 [maps] **\n  TOTAL PSS:   1\n", (), "no sample with MemTotal in it"),
        (meminfo(1, 2, 3), ("--now", "vm.swappiness=100"), "of which nothing is simulated"),
    ],
)
def test_samples_that_say_nothing_and_options_that_do_nothing_are_refused(
    tmp_path: Path, text: str, options: tuple[str, ...], said: str
) -> None:
    done = here("advise", written(tmp_path / "samples.txt", text), *options)
    assert done.code != 0 and said in done.err


def test_samples_with_the_memory_of_processes_name_the_way_to_advice(tmp_path: Path) -> None:
    text = written(tmp_path / "samples.txt", f"@ 1\n{meminfo(1000, 2000, 3000)}process 12 maps 0\nRss: 5 kB\nSwap: 2 kB\n")
    done = here("advise", text)
    assert done.code == 0, done.err
    assert f"`swaplab trace fit phone {text} -o phone.toml`, then `swaplab advise LAUNCHES.csv --apps phone.toml`" in done.out
