"""Run folders with damaged files: each command that reads a run says what is wrong in one line, or
answers as from the whole folder.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest
from command import Done, here

#: Damages of each file; `make soak`'s setting tries more (with 12, in November 2026, nothing was
#: found).
DAMAGES = 12 if "SWAPLAB_SOAK_SECONDS" in os.environ else 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    done = here("replay", "djpeg", "--policy", "clock,lru", "--memory", "10%", "-o", folder / "replay")
    assert done.code == 0, done.err
    short = ["--set", "workload.launches=zipf:launches=12", "--set", "run.seeds=1", "--set", "design=[{name='a',swap='flash'}]"]
    done = here("run", "a2s-large", *short, "-o", folder / "phone")
    assert done.code == 0, done.err
    return {name: folder / name for name in ("replay", "phone")}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Cut the data, flip bits of some bytes, repeat a part, or put other bytes in its place."""
    place = rng.randrange(len(data))
    match rng.randrange(5):
        case 0:
            return data[:place]
        case 1:
            end = min(len(data), place + rng.randint(1, 64))
            return data[:place] + rng.randbytes(end - place) + data[end:]
        case 2:
            return data[:place] + data[place // 2 :]
        case 3:
            return data[:-1] + bytes([data[-1] ^ 0xFF]) if rng.random() < 0.5 else b""
        case _:
            found = bytearray(data)
            for _ in range(rng.randint(1, 8)):
                found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
            return bytes(found)


def commands(folder: Path, whole: Path, out: Path) -> dict[str, list[object]]:
    return {
        "report": ["report", folder, "-o", out / "report.html"],
        "compare": ["compare", whole, folder],
        "explain": ["explain", folder, "3"],
        "rerun": ["rerun", folder],
    }


def complaint(done: Done) -> str | None:
    """Describe what is wrong with a refusal or an answer; None if it is one of the two."""
    if "Traceback" in done.err + done.out:
        return "a traceback"
    if done.code == 2:
        return None if done.err.startswith("swaplab: ") and done.err.count("\n") == 1 and not done.out else "not one line"
    return None if done.code in (0, 1) and done.out else f"exit code {done.code}"


@pytest.mark.parametrize("name", ["replay", pytest.param("phone", marks=pytest.mark.long)])
def test_each_damaged_file_is_refused_in_one_line_or_changes_nothing(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    whole = runs[name]
    files = [path.name for path in sorted(whole.iterdir()) if path.suffix in (".parquet", ".json")]
    assert len(files) == {"replay": 3, "phone": 10}[name], files
    right = {command: here(*words) for command, words in commands(whole, whole, tmp_path).items() if command != "rerun"}
    bad, refused, answered = [], 0, 0
    for file in files:
        for damage in range(DAMAGES):
            rng = random.Random(f"{name} {file} {damage}")
            folder = tmp_path / "run"
            shutil.copytree(whole, folder)
            data = damaged((whole / file).read_bytes(), rng)
            (folder / file).write_bytes(data)
            for command, words in commands(folder, whole, tmp_path).items():
                if command == "rerun" and (damage > 1 or file.endswith(".parquet")):
                    continue
                done = here(*words)
                refused += done.code == 2
                answered += done.code == 0
                if why := complaint(done):
                    bad.append(f"{command} with {file} damaged ({damage}): {why}: {done.err[-300:]}")
                elif done.code == 0 and file.endswith(".parquet") and command == "explain" and done.out != right[command].out:
                    bad.append(f"explain with {file} damaged ({damage}) answers otherwise: {done.out[:200]}")
            shutil.rmtree(folder)
    assert bad == []
    assert refused > 10 and answered > 3, (refused, answered)


def test_a_traceback_or_two_lines_are_noticed() -> None:
    assert complaint(Done(2, "", "swaplab: x: not a run folder\n")) is None and complaint(Done(0, "out", "")) is None
    assert complaint(Done(1, "", "Traceback (most recent call last):\n")) and complaint(Done(2, "", "swaplab: x\nand y\n"))
    assert complaint(Done(3, "", "swaplab: x\n")) and complaint(Done(2, "half a page", "swaplab: x\n"))


def test_json_of_another_shape_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs["phone"], folder)
    for text in ("null", "[]", "{}", "3", '"x"', json.dumps({"rows": None}), "\N{SNOWMAN}", "[" * 100_000):
        (folder / "summary.json").write_text(text)
        for words in (["report", folder, "-o", tmp_path / "r.html"], ["compare", runs["phone"], folder], ["rerun", folder]):
            done = here(*words)
            assert done.code == 2 and complaint(done) is None, (text[:20], words[0], done)
