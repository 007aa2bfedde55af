"""Target `adb:SERIAL`: launches and switches on an Android phone, with the phone's own swap.

The phone keeps its own swap, memory and killer, so an experiment has one design, and its row
reports the phone's swap. Each app needs an `activity`. A visit is `am start -W` (TotalTime, which
Android measures until the activity is drawn), some time in the foreground, and the home key.
Nothing on the phone is changed except which apps run.
It has not been tested with a phone: the transport is tested with the real client against a loopback
daemon, the parsers on samples.
"""

from __future__ import annotations

import shlex
import subprocess
import time

from swaplab._core import span_seconds
from swaplab.core.errors import BadInput, Failed, NotSupported
from swaplab.core.experiment import seeds
from swaplab.core.model import Experiment, Host
from swaplab.worlds.apps import App, launch_order, launch_table, load_apps
from swaplab.worlds.capabilities import Capability, require
from swaplab.worlds.kernel import rows
from swaplab.worlds.kernel.collect.counters import STAT, VMSTAT, Sample, pressure
from swaplab.worlds.kernel.configuration import Configuration
from swaplab.worlds.kernel.protocol import Death, Outcome, Visit
from swaplab.worlds.kernel.target import android
from swaplab.worlds.procfs import PAGE, table
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.swap import Swap

HOME = "input keyevent KEYCODE_HOME"
COUNTERS = "cat /proc/vmstat; echo pressure; cat /proc/pressure/memory 2>/dev/null || true"
LMKD = "logcat -d -b all -v epoch -s lowmemorykiller"
#: (name, what needs it, a command that prints the reason and fails if the phone lacks it)
PROBES = (
    ("android", ("kernel: target adb",), "getprop ro.product.model; getprop ro.build.version.release"),
    ("am", ("kernel: target adb",), "command -v am"),
    ("vmstat", ("kernel: swap traffic",), "grep -E '^pswp(in|out) ' /proc/vmstat"),
    ("swap", ("kernel: swap traffic",), "tail -n +2 /proc/swaps | grep ."),
    ("psi", ("kernel: stall times",), "head -n 1 /proc/pressure/memory"),
    ("dumpsys", ("kernel: memory of each app",), "command -v dumpsys"),
    ("lmkd", ("kernel: kills",), "pidof lmkd"),
    ("logcat", ("kernel: kills",), "command -v logcat"),
    ("root", (), "test $(id -u) = 0 && echo user id 0"),
)


def shell(serial: str, command: str, seconds: float = 60) -> str:
    """Run a command on the phone and return its output. Raises Failed with its exit code,
    NotSupported if adb does not reach the phone.
    """
    argv = ["adb", *(["-s", serial] if serial else []), "shell", "-n", command]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"adb:{serial}: {command}: no end within {seconds:g} s") from error
    complaint = " ".join(done.stderr.split())
    if done.returncode and complaint.startswith(("adb: ", "error: ")):
        raise NotSupported(f"target adb:{serial} needs a phone that adb reaches ({complaint.partition(': ')[2]})")
    if done.returncode:
        raise Failed(f"adb:{serial}: {command}: {complaint or done.stdout.strip()[-200:] or 'no message'} (exit code {done.returncode})")
    return done.stdout


def capabilities(serial: str) -> list[Capability]:
    """Probe the phone's capabilities, each with one command."""
    require(["adb"], f"target adb:{serial}")
    listed = []
    for name, needed, command in PROBES:
        try:
            why, available = " ".join(shell(serial, command).split()), True
        except Failed as error:
            why, available = str(error).removeprefix(f"adb:{serial}: "), False
        listed.append(Capability(name, available, needed, why))
    return listed


def run(serial: str, points: list[Experiment], options: Options) -> WorldResult:
    """Run the experiments' launches on the phone `serial`."""
    for point in points:
        if len(point.design) != 1:
            names = ", ".join(design.name for design in point.design)
            raise BadInput(f"{point.name}: designs {names}; expected one for target adb, as the phone keeps its own swap")
        for app in load_apps(point):
            if not app.activity:
                raise BadInput(f"app {app.name}: no activity; expected PACKAGE/ACTIVITY, because target adb starts activities only")
            if options.dry_run:
                options.say(f"adb shell am force-stop {_package(app)}; am start -W -n {app.activity}; {HOME}")
    if options.dry_run:
        return WorldResult([])
    require(["adb"], f"target adb:{serial}")
    name, size = android.swap_area(shell(serial, "cat /proc/swaps"))
    text = f"{name}:size={size}B" if size else name
    swap = Swap.resolve("/proc/swaps of the phone", text, 0)
    done = [
        _measured(serial, Configuration(number, point, point.design[0], load_apps(point), swap), options)
        for number, point in enumerate(points)
    ]
    model = shell(serial, "getprop ro.product.model").strip()
    host = Host(kernel=shell(serial, "uname -sr || true").strip(), processor=model, target=f"adb:{serial}", facts={"phone": model})
    note = f"The phone keeps its own swap, {text}, and its own killer; the design's swap and killer do not apply."
    result = WorldResult([rows.row(of, outcomes) for of, outcomes in done], host=host, warnings=[note])
    if options.tables:
        result.tables = rows.tables(done)
    return result


def _measured(serial: str, of: Configuration, options: Options) -> tuple[Configuration, list[Outcome]]:
    outcomes, repetitions = [], seeds(of.experiment, "kernel")
    for repetition in range(repetitions):
        options.say(f"repetition {repetition + 1} of {repetitions}: the phone's own swap, {of.swap.key}")
        outcomes.append(_repetition(serial, of))
    return of, outcomes


def _repetition(serial: str, of: Configuration) -> Outcome:
    outcome, launches = Outcome(), launch_table(of.experiment)
    apps = {app.name: app for app in of.apps}
    foreground_s = span_seconds("workload.launches.foreground", launches.foreground)
    began, now = time.monotonic(), float(shell(serial, "date +%s"))
    started = now
    for app in of.apps:
        shell(serial, f"am force-stop {_package(app)}")
    first = _sample(serial)
    for number in range(launches.warm_up + launches.rounds):
        if number == launches.warm_up:
            first, now = _sample(serial), float(shell(serial, "date +%s"))
        for name in launch_order(launches, of.apps):
            outcome.visits.append(_visit(serial, apps[name], number, number < launches.warm_up, began))
            time.sleep(foreground_s)
            shell(serial, HOME)
    outcome.counts = _sample(serial).since(first)
    killed = android.kills(shell(serial, LMKD), now)
    outcome.kills = [Death(round((kill.at_s - started) * 1e9), kill.name, kill.reason, kill.freed_bytes) for kill in killed]
    everything = shell(serial, "dumpsys meminfo")
    total = table(shell(serial, "cat /proc/meminfo").replace(":", "")).get("MemTotal", 0) * 1024
    # zRAM's pool is part of the phone's memory, so it is not added to the limit.
    outcome.memory = {"limit": total, "pool": 0, "pool_inside": android.zram_pool(everything)}
    used = {app.name: android.footprint(shell(serial, f"dumpsys meminfo {_package(app)}")) for app in of.apps}
    outcome.apps = {name: row for name, row in used.items() if row}
    outcome.seconds = time.monotonic() - began
    return outcome


def _visit(serial: str, app: App, number: int, warm_up: bool, began: float) -> Visit:
    alive = bool(shell(serial, f"pidof {_package(app)} || true").strip())
    before = _sample(serial)
    output = shell(serial, f"am start -W -n {shlex.quote(app.activity)} 2>&1 || true", app.ready_seconds)
    ended = time.monotonic()
    after = _sample(serial).since(before)
    started = android.start(output, alive)
    if started is None:
        raise BadInput(f"app {app.name}: am start -W -n {app.activity}: {android.refusal(output)}; expected an activity that starts")
    start = "cold" if started.state == "COLD" else "resume"
    pages_in, pages_out = after["swap_in_bytes"] // PAGE, after["swap_out_bytes"] // PAGE
    at_ns = round((ended - began) * 1e9 - started.ms * 1e6)
    return Visit(number, warm_up, app.name, start, started.ms, pages_in, pages_out, after["major_faults"], -1, 0, at_ns)


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
