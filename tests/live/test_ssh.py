"""Tests the target `ssh`: with a real sshd on loopback, a key made for the test, and swaplab's own
command on the remote side.
"""

import getpass
import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from machine_state import machine_state

SWAPLAB = [sys.executable, "-c", "from swaplab.cli import main; main()"]
EXPERIMENT = """
machine.dram = "40MiB"
design = [{ swap = "zram:size=SIZE" }]
run = { on = ["kernel"], seeds = 1, kernel = { calibrate = false } }
workload.launches = { rounds = ROUNDS, foreground = "0" }
workload.apps = [{ use = "counter.toml" }, { use = "swaplab-app", name = "one" }, { use = "swaplab-app", name = "two" }]
"""
COUNTER = """
name = "counter"
command = ["sh", "-c", "echo ready; while read line; do echo ok bad=0; done"]
ready = [{ expect = "^ready" }]
request = [{ send = "resume\\n", expect = "^ok bad=(?P<bad>\\\\d+)" }]
"""


def text(rounds: int = 1, size: str = "64MiB") -> str:
    """The text of the experiment's file."""
    return EXPERIMENT.replace("ROUNDS", str(rounds)).replace("SIZE", size)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """Start sshd as this user, on a free port, with a key of the test; yields the host for
    `ssh:HOST` and the command to connect to it.
    """
    daemon = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
    if daemon is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("no sshd, ssh and ssh-keygen here (Debian: apt-get install openssh-server)")
    at = tmp_path_factory.mktemp("ssh")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at / name], check=True, timeout=30)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (at / "keys").write_text((at / "user.pub").read_text())
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin"
    (at / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/keys\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nSetEnv PATH={path}\n"
    )
    # The empty directory for sshd's privilege separation.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with subprocess.Popen([daemon, "-D", "-e", "-f", at / "config"], stderr=(at / "log").open("w")) as server:
        try:
            options = f"-p {port} -i {at}/user -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile={at}/known -o IdentitiesOnly=yes"
            command = f"ssh {options}"
            name = f"{getpass.getuser()}@127.0.0.1"
            deadline = time.monotonic() + 15
            while subprocess.run([*shlex.split(command), name, "true"], capture_output=True, timeout=20, check=False).returncode:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.skip(f"sshd does not take a connection here: {(at / 'log').read_text()[-300:]}")
                time.sleep(0.1)
            yield name, command
        finally:
            server.terminate()


@pytest.fixture
def swaplab(host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The command line, with `ssh:` reaching the loopback host, in a folder with an app of one's
    own.
    """
    name, command = host
    monkeypatch.setenv("SWAPLAB_SSH", command)
    monkeypatch.chdir(tmp_path)
    Path("counter.toml").write_text(COUNTER)
    Path("exp.toml").write_text(text())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = [word.replace("HOST", name) for word in arguments]
        return subprocess.run([*SWAPLAB, *done], capture_output=True, text=True, timeout=120, check=False)

    return run


def test_an_experiment_over_ssh_is_measured_on_the_remote_machine(swaplab):
    before = machine_state()
    done = swaplab("run", "exp.toml", "--target", "ssh:HOST", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (row,) = document["rows"]
    assert document["machine"]["target"].startswith("ssh:") and row["kind"] == "measured"
    assert row["kernel"]["bad_pages"] == 0 and row["kernel"]["checked_apps"] == 2
    assert row["launches"]["resume_ms"]["n"] == 3 and row["paging"]["swap_out_bytes"] > 2**20
    assert machine_state() == before


def test_a_dry_run_over_ssh_prints_every_change_on_the_remote_machine(swaplab):
    before = machine_state()
    done = swaplab("run", "exp.toml", "--target", "ssh:HOST", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "127.0.0.1: mkswap /dev/zram" in done.stdout and "127.0.0.1: swapoff" in done.stdout
    assert machine_state() == before


def test_messages_and_exit_codes_are_forwarded(swaplab):
    Path("exp.toml").write_text(text(size="100000GiB"))
    large = swaplab("run", "exp.toml", "--target", "ssh:HOST")
    assert large.returncode == 2 and "are available" in large.stderr and "ssh:" in large.stderr, large.stderr
    nobody = swaplab("run", "quick", "--target", "ssh:nobody-here@127.0.0.1")
    assert nobody.returncode == 1 and "ssh:nobody-here" in nobody.stderr, nobody.stderr


def test_doctor_checks_the_remote_machine(swaplab):
    done = swaplab("doctor", "--target", "ssh:HOST", "--json")
    assert done.returncode == 0, done.stderr
    assert any(row["name"] == "swap" and row["available"] for row in json.loads(done.stdout)["capabilities"])


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_the_remote_run_undoes_its_changes_when_the_local_side_ends(swaplab, host, blow):
    """After Ctrl-C on the local side, and after `kill -9` of the command and its connection."""
    before = machine_state()
    Path("exp.toml").write_text(text(rounds=2000))
    with subprocess.Popen([*SWAPLAB, "run", "exp.toml", "--target", f"ssh:{host[0]}"], stderr=subprocess.PIPE) as run:
        deadline = time.monotonic() + 60
        while not (set(map(tuple, machine_state()["swaps"])) - set(map(tuple, before["swaps"]))):
            assert run.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        if blow == signal.SIGKILL:
            children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
            for child in map(int, children):
                subprocess.run(["kill", "-9", str(child)], check=True)
        run.send_signal(blow)
        assert run.wait(90) == (130 if blow == signal.SIGINT else -signal.SIGKILL)
    deadline = time.monotonic() + 30
    while machine_state() != before and time.monotonic() < deadline:
        time.sleep(0.2)
    assert machine_state() == before
