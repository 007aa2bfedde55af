"""Target `adb`: parsers on samples in Android's formats, and runs with the real adb client against
a loopback daemon instead of a phone.
"""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from loopback_phone import LoopbackPhone
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput, Failed, NotSupported
from swaplab.core.model import Experiment
from swaplab.worlds import kernel
from swaplab.worlds.kernel.target import adb, android
from swaplab.worlds.result import Options

EXPERIMENT = """
machine.dram = "1GiB"
design = [{ swap = "zram:size=1GiB" }]
run = { on = ["kernel"], seeds = 1, seed = 5 }
workload.launches = { rounds = 2, foreground = "0" }
"""
COLD = """Starting: Intent { act=android.intent.action.MAIN cat=[android.intent.category.LAUNCHER] cmp=com.example.mail/.Main }
Status: ok
LaunchState: COLD
Activity: com.example.mail/.Main
TotalTime: 512
WaitTime: 519
Complete
"""
HOT = """Starting: Intent { cmp=com.example.mail/.Main }
Warning: Activity not started, its current task has been brought to the front
Status: ok
LaunchState: HOT
Activity: com.example.mail/.Main
TotalTime: 61
WaitTime: 66
Complete
"""
MISSING = """Starting: Intent { cmp=com.example.gone/.Main }
Error type 3
Error: Activity class {com.example.gone/com.example.gone.Main} does not exist.
"""
LMKD = """--------- beginning of main
1700000010.250  1000   512   512 I lowmemorykiller: Kill 'com.example.maps' (4711), uid 10121, oom_score_adj 915 to free 81920kB rss, \
20480kB swap; reason: low watermark is breached and swap is low (98304kB < 104856kB)
1700000011.500   512   512 I lowmemorykiller: Kill 'com.example.old' (4712), uid 10122, oom_adj 906 to free 40960kB
1700000012.000  1000   512   512 I lowmemorykiller: lmkd data connection established
1600000000.000  1000   512   512 I lowmemorykiller: Kill 'com.example.early' (1), uid 1, oom_score_adj 999 to free 4kB rss, 0kB swap
"""
APP_MEMORY = """** MEMINFO in pid 4711 [com.example.mail] **
                   Pss  Private  Private  SwapPss      Rss     Heap
 App Summary
           TOTAL PSS:    61440            TOTAL RSS:   102400       TOTAL SWAP PSS:     2048
"""
ALL_MEMORY = """Total RAM: 1,899,508K (status normal)
 Used RAM: 1,200,000K (1,100,000K used pss +   100,000K kernel)
     ZRAM:    51,200K physical used for   204,800K in swap (  524,284K total swap)
"""
SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/block/zram0                        partition\t524284\t\t204800\t\t32758\n"


def test_launches_are_read():
    assert android.start(COLD, False) == android.Start("COLD", 512)
    assert android.start(HOT, True) == android.Start("HOT", 61)
    before_10 = "".join(line for line in COLD.splitlines(keepends=True) if "LaunchState" not in line)
    assert android.start(before_10, False) == android.Start("COLD", 512) and android.start(before_10, True) == android.Start("HOT", 512)
    assert android.start(MISSING, False) is None
    assert android.refusal(MISSING) == "Activity class {com.example.gone/com.example.gone.Main} does not exist."


def test_kills_of_lmkd_are_read_from_a_given_time_on():
    first, second = android.kills(LMKD, 1700000000)
    assert first == android.LmkdKill(
        1700000010.25, "com.example.maps", 915, 100 << 20, "low watermark is breached and swap is low (98304kB < 104856kB)"
    )
    assert (second.name, second.score, second.freed_bytes, second.reason) == ("com.example.old", 906, 40 << 20, "unknown")
    assert len(android.kills(LMKD, 1700000011)) == 1


def test_memory_and_swap_are_read():
    assert android.footprint(APP_MEMORY) == {"Pss": 60 << 20, "Rss": 100 << 20, "Swap": 2 << 20}
    assert android.footprint("No process found for: com.example.mail") == {}
    assert android.zram_pool(ALL_MEMORY) == 50 << 20 and android.zram_pool("no such line") == 0
    assert android.swap_area(SWAPS) == ("zram", 524284 * 1024)
    assert android.swap_area(SWAPS.splitlines()[0]) == ("none", 0)
    assert android.swap_area(SWAPS.replace("/dev/block/zram0", "/data/swap")) == ("flash", 524284 * 1024)


class Sample:
    """A phone that answers with samples. The first start of an app is cold; each start swaps 10
    pages in and 30 out.
    """

    def __init__(self):
        self.alive, self.starts, self.commands = set(), 0, []

    def __call__(self, command: str) -> tuple[int, str, str]:
        self.commands.append(command)
        first, *rest = command.split()
        package = command.partition("com.example.")[2].split("/")[0].split()
        if first == "am" and rest[0] == "start":
            if package == ["gone"]:
                return 0, MISSING, ""
            self.starts += 1
            said = HOT if package[0] in self.alive else COLD
            self.alive.add(package[0])
            return 0, said, ""
        fixed = {
            "am force-stop": "",
            "cat /proc/swaps": SWAPS,
            "cat /proc/vmstat": f"pswpin {10 * self.starts}\npswpout {30 * self.starts}\npgmajfault {self.starts}\npressure\n"
            f"some avg10=0.00 avg60=0.00 avg300=0.00 total={1000 * self.starts}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
            "cat /proc/meminfo": "MemTotal:        1899508 kB\nMemFree:          12345 kB\n",
            "date": "1700000000\n",
            "input keyevent": "",
            "logcat": LMKD,
            "dumpsys meminfo com": APP_MEMORY,
            "dumpsys meminfo": ALL_MEMORY,
            "getprop": "Loopback\n",
            "uname": "Linux 5.10.101-android12\n",
            "pidof com": "4711\n" if package and package[0] in self.alive else "",
            "grep": "pswpin 1\npswpout 2\n",
            "head": "some avg10=0.00\n",
            "tail": "/dev/block/zram0 partition\n",
            "command -v": "/system/bin/x\n",
            "test": "",
            "pidof lmkd": "512\n",
        }
        for start, said in fixed.items():
            if command.startswith(start):
                return (1, "", "not root") if start == "test" else (0, said, "")
        return 127, "", f"{first}: inaccessible or not found"


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The sample phone, reached by the real client through the test's own adb server."""
    if shutil.which("adb") is None:
        pytest.skip("no program adb on the path")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(port))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ADB_MDNS", "0")
    sample = Sample()
    with LoopbackPhone(sample) as daemon:
        serial = f"127.0.0.1:{daemon.port}"
        try:
            said = subprocess.run(["adb", "connect", serial], capture_output=True, text=True, timeout=30, check=False)
            assert "connected to" in said.stdout, said
            yield sample, serial
        finally:
            subprocess.run(["adb", "kill-server"], capture_output=True, timeout=30, check=False)


def experiment(folder: Path, *names: str) -> Experiment:
    for name in names:
        (folder / f"{name}.toml").write_text(f'name = "{name}"\nactivity = "com.example.{name}/.Main"\n')
    uses = ", ".join(f'{{ use = "{folder}/{name}.toml" }}' for name in names)
    return experiments.parse(f"{EXPERIMENT}workload.apps = [{uses}]\n", "exp.toml")


def test_launches_on_a_phone_of_samples(phone, tmp_path: Path):
    sample, serial = phone
    result = kernel.run([experiment(tmp_path, "mail", "maps")], Options(target=f"adb:{serial}", tables=True))
    (row,) = result.rows
    assert (
        result.host.kernel == "Linux 5.10.101-android12"
        and result.host.target == f"adb:{serial}"
        and row.kind == "measured"
        and row.swap == f"zram:size={524284 * 1024}B"
        and row.seed == 5
    )
    assert row.launches.cold_ms.n == 2 and row.launches.cold_ms.p50 == 512
    assert row.launches.resume_ms.n == 4 and row.launches.resume_ms.p50 == 61
    # Two rounds of two starts count; the warm-up does not.
    assert (row.paging.swap_in_bytes, row.paging.swap_out_bytes, row.time.psi_some_ns) == (40 * 4096, 120 * 4096, 4_000_000)
    assert row.launches.kills == 2 and row.memory.dram_bytes == row.memory.total_dram_bytes == 1899508 * 1024
    assert row.memory.pool_bytes == 0 and row.memory.pool_peak_bytes == 50 << 20
    assert row.kernel.apps["mail"]["Pss"] == 60 << 20 and "keeps its own swap" in result.warnings[0]
    assert result.tables["launches"]["start"].to_list() == ["cold", "cold", *["resume"] * 4]
    assert sum(command.startswith("am force-stop") for command in sample.commands) == 2


def test_an_unknown_activity_is_bad_input(phone, tmp_path: Path):
    with pytest.raises(BadInput, match="does not exist.; expected an activity that starts"):
        kernel.run([experiment(tmp_path, "gone")], Options(target=f"adb:{phone[1]}"))


def test_the_phone_s_capabilities_are_probed(phone):
    rows = {row.name: row for row in adb.capabilities(phone[1])}
    assert rows["swap"].available and rows["lmkd"].available and rows["android"].why.startswith("Loopback")
    assert not rows["root"].available and "not root" in rows["root"].why


def test_large_answers_and_exit_codes_pass_the_transport(phone):
    sample, serial = phone
    with pytest.raises(Failed, match=r"no-such-program: .*inaccessible or not found \(exit code 127\)"):
        adb.shell(serial, "no-such-program")
    large = "x" * 700_001
    sample.__class__ = type("Large", (Sample,), {"__call__": lambda self, command: (0, large, "")})
    assert adb.shell(serial, "anything") == large


def test_an_unreachable_phone_is_a_missing_capability(phone, tmp_path: Path):
    with pytest.raises(NotSupported, match="needs a phone that adb reaches"):
        kernel.run([experiment(tmp_path, "mail")], Options(target="adb:nobody"))


def test_dry_runs_and_refusals_need_no_phone(tmp_path: Path):
    wanted, said = experiment(tmp_path, "mail"), []
    kernel.run([wanted], Options(target="adb:nobody", dry_run=True, say=said.append))
    assert "am start -W -n com.example.mail/.Main" in said[0]
    with pytest.raises(BadInput, match="no ready test|no command"):
        kernel.run([wanted], Options(dry_run=True))
    two = experiments.parse(experiments.dumped(wanted).replace('"zram:size=1GiB"', '["zram:size=1GiB", "none"]'), "two.json")
    with pytest.raises(BadInput, match="expected one for target adb"):
        kernel.run([two], Options(target="adb"))
    for target in ("phone:1", "ssh:", "ssh:-oProxyCommand=x", "local:1", "uml"):
        with pytest.raises(BadInput, match=f"^run.kernel.target: '{target}'; expected local, ssh:HOST, adb or adb:SERIAL"):
            kernel.run([wanted], Options(target=target))
