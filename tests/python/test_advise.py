"""Launch lists with custom columns, and the advice on a small list."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import here
from swaplab.core import launch_list
from swaplab.core.errors import BadInput

#: Launches of two apps, with dates.
LIST = "when,package\n2026-01-01T10:00:00Z,maps\n2026-01-01T10:01:00Z,mail\n2026-01-01T11:00:00Z,maps\n"


def converted(tmp_path: Path, text: str, columns: str, first: int | None = None) -> str:
    source, target = tmp_path / "mine.csv", tmp_path / "out.csv"
    source.write_text(text)
    launch_list.convert(source, target, launch_list.parse_columns(columns), first)
    return target.read_text()


def test_columns_are_chosen_by_name_dates_become_seconds_and_foreground_lasts_until_the_next_launch(tmp_path: Path) -> None:
    found = converted(tmp_path, LIST, "time=when,app=package")
    assert found.splitlines() == [
        "seq,t_s,app,category,fg_s",
        "0,0.000,maps,,60.000",
        "1,60.000,mail,,300.000",
        "2,3600.000,maps,,300.000",
    ]
    assert converted(tmp_path, LIST, "time=when,app=package", first=1).count("\n") == 2


def test_a_list_in_swaplabs_format_needs_no_column_names_and_is_sorted(tmp_path: Path) -> None:
    found = converted(tmp_path, "seq,t_s,app,category,fg_s\n1,5,b,x,2\n0,3,a,y,1.5\n", "")
    assert found.splitlines()[1:] == ["0,0.000,a,y,1.500", "1,2.000,b,x,2.000"]


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        (LIST, "", "line 1: no column 't_s'; expected --columns time= with one of: when, package"),
        (LIST, "date=when", "--columns 'date=when': expected time=, app=, category=, foreground= and"),
        ("t_s,app\n1,a\nsoon,b\n", "", "mine.csv:3: time 'soon' of app 'b'"),
        ("t_s,app\n", "", "no launch in it"),
    ],
)
def test_an_invalid_launch_list_is_refused_with_its_place(tmp_path: Path, text: str, columns: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        converted(tmp_path, text, columns)
    assert said in str(error.value)


def test_advise_reports_that_memory_was_never_tight(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(LIST)
    small = [f"workload.apps.{kind}={{anon='8MiB',file='8MiB',graphics='4MiB'}}" for kind in ("light", "medium", "heavy", "game", "system")]
    sets = [word for change in ["machine.dram=2GiB", *small] for word in ("--set", change)]
    done = here("advise", file, "--columns", "time=when,app=package", "--draws", "3", *sets)
    assert done.code == 0, done.err
    assert "memory was never tight" in done.out and "nothing is advised" in done.out
    assert "ro.lmk.thrashing_limit" in done.out and "over 3 draws of app sizes" in done.out
