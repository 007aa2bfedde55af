"""A CSV of app launches from anywhere, as the list of launches that swaplab reads: columns are
mapped by name.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message

#: The meanings of columns in a launch list, with the columns of swaplab's format.
MEANINGS = {"time": "t_s", "app": "app", "category": "category", "foreground": "fg_s"}
#: Without a column for the time in front, an app stays in front until the next launch, at most this
#: number of seconds (assumed).
LONGEST_S = 300.0
#: Times are below this, in seconds: the year 5138. A clock of milliseconds since 1970 is above it.
END_S = 1e11
#: Columns that are added to those of the file: the launch's time in seconds, and the number of its
#: line.
AT, LINE = "\0at", "\0line"


def parse_columns(text: str | None) -> dict[str, str]:
    """`time=when,app=package`: the file's column for each meaning. The others have swaplab's own
    column. Raises BadInput.
    """
    columns = dict(MEANINGS)
    for part in (text or "").split(","):
        meaning, equals, column = (word.strip() for word in part.partition("="))
        if not part.strip():
            continue
        if meaning not in MEANINGS or not equals or not column:
            raise BadInput(f"--columns '{part.strip()}': expected {'=, '.join(MEANINGS)}= and the name of a column of the file")
        columns[meaning] = column
    return columns


def convert(source: Path, target: Path, columns: dict[str, str], first: int | None = None) -> int:
    """Write the `first` launches of `source` to `target` as swaplab's own format has them; returns
    how many there are. Times are seconds or dates as ISO 8601 writes them. Raises BadInput."""
    try:
        table = pl.read_csv(source, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(f"{path_for_message(source)}: {str(error).splitlines()[0]}; expected a CSV of launches with a header") from None
    for meaning in ("time", "app"):
        if columns[meaning] not in table.columns:
            raise BadInput(
                f"{path_for_message(source)}: line 1: no column '{columns[meaning]}'; "
                f"expected --columns {meaning}= with one of: {', '.join(table.columns)}"
            )
    table = table.with_columns(_seconds(table[columns["time"]]).alias(AT)).with_row_index(LINE, 2)
    in_seconds = pl.col(AT).is_finite() & (pl.col(AT).abs() < END_S)
    named = ~pl.col(columns["app"]).fill_null("").str.contains(r"^$|[,\n]")
    bad = table.filter(~(in_seconds.fill_null(False) & named))
    if bad.height:
        line, time, app = (value or "" for value in bad.select(LINE, columns["time"], columns["app"]).row(0))
        raise BadInput(
            f"{path_for_message(source)}:{line}: time '{time}' of app '{app}'; "
            "expected seconds (not milliseconds) or an ISO 8601 date, and an app's name without a comma"
        )
    table = table.sort(AT, maintain_order=True)
    if first is not None:
        table = table.head(first)
    if table.is_empty():
        raise BadInput(f"{path_for_message(source)}: no launch in it; expected at least one line below the header")
    until_next = (pl.col(AT).shift(-1) - pl.col(AT)).fill_null(LONGEST_S).clip(upper_bound=LONGEST_S)
    given = pl.col(columns["foreground"]).cast(pl.Float64, strict=False) if columns["foreground"] in table.columns else pl.lit(None)
    category = pl.col(columns["category"]).str.replace_all(",", " ") if columns["category"] in table.columns else pl.lit("")
    launches = table.select(
        seq=pl.int_range(pl.len()),
        t_s=pl.col(AT) - pl.col(AT).first(),
        app=pl.col(columns["app"]),
        category=category.fill_null(""),
        fg_s=given.fill_null(until_next).clip(0),
    )
    launches.write_csv(target, quote_style="never", float_precision=3)
    return launches.height


def _seconds(values: pl.Series) -> pl.Series:
    """Seconds of numbers; where there is no number, of dates, since 1970 (UTC where they name no
    zone). Null for what is neither.
    """
    numbers = values.cast(pl.Float64, strict=False)
    if numbers.null_count() < len(values):
        return numbers
    return pl.Series([_date(value) for value in values], dtype=pl.Float64)


def _date(text: str | None) -> float | None:
    try:
        date = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
