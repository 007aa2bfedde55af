"""`--target adb:SERIAL`: launches and switches on an Android phone, with the swap that it has.

The phone keeps its own swap, limits and killer, so an experiment's `memory`, `swap` and `schemes` do not apply: one row says what the
phone has. Apps are those with an `activity`. A visit is `am start -W` (its TotalTime, which Android measures until the activity is
drawn), some seconds in front, and the home key. Nothing of the phone is changed but which apps run.
No phone has been tried: the transport is tested with the real client against a loopback daemon, the parsers against samples.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from typing import Any

from swaplab import BadInput, Failed, NotSupported
from swaplab.live.bench import runner
from swaplab.live.bench.protocol import Outcome, Visit
from swaplab.live.bench.schemes import SCHEMES
from swaplab.live.bench.spec import App, dumped, launches
from swaplab.live.capabilities import Capability, require
from swaplab.live.collect.counters import PAGE, STAT, VMSTAT, Sample, pressure, table
from swaplab.live.target import android
from swaplab.live.target.request import Request

HOME = "input keyevent KEYCODE_HOME"
COUNTERS = "cat /proc/vmstat; echo pressure; cat /proc/pressure/memory 2>/dev/null || true"
LMKD = "logcat -d -b all -v epoch -s lowmemorykiller"
#: (name, what needs it, a command that prints why and fails where the phone lacks it)
PROBES = (
    ("android", ("bench --target adb",), "getprop ro.product.model; getprop ro.build.version.release"),
    ("am", ("bench --target adb",), "command -v am"),
    ("vmstat", ("bench: swap traffic",), "grep -E '^pswp(in|out) ' /proc/vmstat"),
    ("swap", ("bench: swap traffic",), "tail -n +2 /proc/swaps | grep ."),
    ("psi", ("bench: stall times",), "head -n 1 /proc/pressure/memory"),
    ("dumpsys", ("bench: memory of each app",), "command -v dumpsys"),
    ("lmkd", ("bench: kills",), "pidof lmkd"),
    ("logcat", ("bench: kills",), "command -v logcat"),
    ("root", (), "test $(id -u) = 0 && echo user id 0"),
)


def shell(serial: str, command: str, seconds: float = 60) -> str:
    """What one command prints on the phone; Failed with its exit code, NotSupported where the phone is out of reach."""
    argv = ["adb", *(["-s", serial] if serial else []), "shell", "-n", command]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"adb:{serial}: {command}: no end within {seconds:g} s") from error
    complaint = " ".join(done.stderr.split())
    if done.returncode and complaint.startswith(("adb: ", "error: ")):
        raise NotSupported(f"--target adb:{serial} needs a phone that adb reaches ({complaint.partition(': ')[2]})")
    if done.returncode:
        raise Failed(f"adb:{serial}: {command}: {complaint or done.stdout.strip()[-200:] or 'no word'} (exit code {done.returncode})")
    return done.stdout


def capabilities(serial: str) -> list[Capability]:
    """What the phone can do, each asked by one command."""
    require(["adb"], f"--target adb:{serial}")
    found = []
    for name, needed, command in PROBES:
        try:
            why, available = " ".join(shell(serial, command).split()), True
        except Failed as error:
            why, available = str(error).removeprefix(f"adb:{serial}: "), False
        found.append(Capability(name, available, needed, why))
    return found


def run(request: Request) -> dict[str, Any]:
    """Run the experiment's launches on that phone."""
    for app in request.apps:
        if not app.activity:
            raise BadInput(f"app {app.name}: no activity; expected PACKAGE/ACTIVITY, for --target adb starts nothing else")
    if request.dry_run:
        for app in request.apps:
            request.say(f"adb shell am force-stop {_package(app)}; am start -W -n {app.activity}; {HOME}")
        return {"schema": 1, "kind": "dry-run", "experiment": dumped(request.experiment), "schemes": []}
    require(["adb"], f"--target adb:{request.at}")
    name, size = android.swap_area(shell(request.at, "cat /proc/swaps"))
    outcomes = []
    for repetition in range(request.bench.repetitions):
        request.progress(f"repetition {repetition + 1} of {request.bench.repetitions}: the phone's own swap, {name}")
        outcomes.append(_repetition(request))
    row = runner.row(runner.Configuration(SCHEMES[name], size), outcomes, request.experiment.seed)
    return {
        "schema": 1,
        "kind": "measured",
        "target": f"adb:{request.at}",
        "phone": shell(request.at, "getprop ro.product.model").strip(),
        "experiment": dumped(request.experiment),
        "apps": [{"name": app.name, "activity": app.activity} for app in request.apps],
        "schemes": [row | {"calibration": None}],
    }


def _repetition(request: Request) -> Outcome:
    bench, serial, outcome = request.bench, request.at, Outcome()
    apps = {app.name: app for app in request.apps}
    began, now = time.monotonic(), float(shell(serial, "date +%s"))
    started = now
    for app in request.apps:
        shell(serial, f"am force-stop {_package(app)}")
    first = _sample(serial)
    for number in range(bench.warm_up_rounds + bench.rounds):
        if number == bench.warm_up_rounds:
            first, now = _sample(serial), float(shell(serial, "date +%s"))
        for name in launches(bench, request.apps):
            outcome.visits.append(_visit(serial, apps[name], number, number < bench.warm_up_rounds, began))
            time.sleep(bench.foreground_seconds)
            shell(serial, HOME)
    outcome.counts = _sample(serial).since(first)
    killed = android.kills(shell(serial, LMKD), now)
    outcome.kills = [
        {"at_ns": round((kill.at_s - started) * 1e9), "app": kill.name, "reason": kill.reason, "freed_bytes": kill.freed_bytes}
        for kill in killed
    ]
    everything = shell(serial, "dumpsys meminfo")
    total = table(shell(serial, "cat /proc/meminfo").replace(":", "")).get("MemTotal", 0) * 1024
    pool = android.zram_pool(everything)
    # The pool is in the phone's memory, so the total is that memory.
    outcome.memory = {"limit_bytes": total, "pool_bytes": pool, "medium_bytes": 0, "total_bytes": total}
    used = {app.name: android.footprint(shell(serial, f"dumpsys meminfo {_package(app)}")) for app in request.apps}
    outcome.apps = {name: row for name, row in used.items() if row}
    outcome.seconds = time.monotonic() - began
    return outcome


def _visit(serial: str, app: App, number: int, warm_up: bool, began: float) -> Visit:
    alive = bool(shell(serial, f"pidof {_package(app)} || true").strip())
    before = _sample(serial)
    said = shell(serial, f"am start -W -n {shlex.quote(app.activity)} 2>&1 || true", app.ready_seconds)
    ended = time.monotonic()
    after = _sample(serial).since(before)
    found = android.start(said, alive)
    if found is None:
        raise BadInput(f"app {app.name}: am start -W -n {app.activity}: {android.refusal(said)}; expected an activity that starts")
    what = "launch" if found.state == "COLD" else "switch"
    pages_in, pages_out = after["swap_in_bytes"] // PAGE, after["swap_out_bytes"] // PAGE
    at_ns = round((ended - began) * 1e9 - found.ms * 1e6)
    return Visit(number, warm_up, app.name, what, found.ms, pages_in, pages_out, after["major_faults"], -1, 0, at_ns)


def _sample(serial: str) -> Sample:
    counts, _, stalls = shell(serial, COUNTERS).partition("pressure\n")
    rows = table(counts)
    return Sample(
        {name: rows.get(name, 0) for name in VMSTAT},
        {name: rows.get(name, 0) for name in STAT},
        pressure(stalls),
        "machine",
        0,
        False,
    )


def _package(app: App) -> str:
    return app.activity.partition("/")[0]
