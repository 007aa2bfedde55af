"""Parsers of the output of Android's commands.

Formats: AOSP's ActivityManagerShellCommand (`am start -W`), ActivityManagerService
(`dumpsys meminfo`) and lmkd. They have not been tested with a phone: the tests use samples written
in these formats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KIB = 1024
#: lmkd: Kill 'NAME' (PID), uid UID, oom_score_adj ADJ to free RSSkB rss, SWAPkB swap; reason: WHY.
#: Older ones leave out uid, swap, reason.
KILL = re.compile(
    r"(?:^|\s)(?P<at>\d+\.\d+)\s.*lowmemorykiller.*: Kill(?:ing)? '(?P<name>[^']+)' \((?P<pid>\d+)\)(?:, uid \d+)?,"
    r" (?:oom_score_adj|oom_adj|adj) (?P<adj>-?\d+),?\s+to free (?P<rss>\d+)kB(?: rss)?(?:, (?P<swap>\d+)kB swap)?"
    r"(?:; reason: (?P<why>.*))?"
)


@dataclass(frozen=True)
class Start:
    """The result of `am start -W`: the launch state (`COLD`: there was no process) and the ms until
    the activity was drawn.
    """

    state: str
    ms: float


@dataclass(frozen=True)
class LmkdKill:
    """A kill in lmkd's log: time (seconds since 1970), app, `oom_score_adj`, bytes freed,
    reason.
    """

    at_s: float
    name: str
    score: int
    freed_bytes: int
    reason: str


def start(text: str, was_alive: bool) -> Start | None:
    """Parse the output of `am start -W`; None if the activity was not started.

    Before Android 10 there is no LaunchState; `was_alive`, whether the process existed before, then
    decides between HOT and COLD.
    """
    rows = dict(re.findall(r"^(\w+): +(\S+)", text, re.MULTILINE))
    if rows.get("Status") != "ok" or "TotalTime" not in rows:
        return None
    state = rows.get("LaunchState", "UNKNOWN")
    return Start(state if state in ("COLD", "WARM", "HOT") else "HOT" if was_alive else "COLD", float(rows["TotalTime"]))


def refusal(text: str) -> str:
    """Return why `am start` failed, on one line."""
    reason = re.search(r"^(?:Error: |Exception occurred.*\n.*?: |Status: )(.+)$", text, re.MULTILINE)
    return " ".join((reason[1] if reason else text[-200:]).split())


def kills(text: str, since_s: float) -> list[LmkdKill]:
    """Parse lmkd's kills from the time `since_s` on from `logcat -v epoch`; other lines are
    skipped.
    """
    listed = []
    for line in text.splitlines():
        if (m := KILL.search(line)) and float(m["at"]) >= since_s:
            freed = (int(m["rss"]) + int(m["swap"] or 0)) * KIB
            listed.append(LmkdKill(float(m["at"]), m["name"], int(m["adj"]), freed, (m["why"] or "unknown").strip()))
    return listed


def footprint(text: str) -> dict[str, int]:
    """Parse the bytes of an app from `dumpsys meminfo PACKAGE`: Pss, Rss, Swap (own or
    proportional); empty if it does not run.
    """
    wanted = {"Pss": r"TOTAL PSS:\s+(\d+)", "Rss": r"TOTAL RSS:\s+(\d+)", "Swap": r"TOTAL SWAP (?:PSS|\(KB\)):\s+(\d+)"}
    matches = {name: re.search(pattern, text) for name, pattern in wanted.items()}
    return {name: int(match[1]) * KIB for name, match in matches.items() if match}


def zram_pool(text: str) -> int:
    """Parse the bytes of zRAM's pool from the ZRAM line of `dumpsys meminfo`; 0 if there is
    none.
    """
    line = re.search(r"^\s*ZRAM:\s+([\d,]+)K physical used for", text, re.MULTILINE)
    return int(line[1].replace(",", "")) * KIB if line else 0


def swap_area(text: str) -> tuple[str, int]:
    """Parse (scheme, bytes) of the phone's swap from /proc/swaps: zram, flash, or none."""
    rows = [line.split() for line in text.splitlines()[1:] if len(line.split()) >= 5]
    if not rows:
        return "none", 0
    return "zram" if any("zram" in row[0] for row in rows) else "flash", sum(int(row[2]) for row in rows) * KIB
