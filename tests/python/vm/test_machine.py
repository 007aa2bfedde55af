"""Reports about failing guests, with a shell script instead of QEMU that writes a guest's console
output.
"""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path

import pytest
from swaplab import Failed, NotSupported
from swaplab.worlds.vm import machine, records, tools
from swaplab.worlds.vm.kernels import Kernel

END = '@swaplab {"record":"end","at_ns":5}'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that runs a shell script as QEMU; `$console` is the serial line's file."""

    def go(script: str, wall_limit_s: int = 20, stopped=lambda: False) -> list[records.AnyRecord]:
        program = tmp_path / "qemu"
        program.write_text(
            f"#!/bin/sh\nconsole={tmp_path}/console\necho $$ > {tmp_path}/pid.new && mv {tmp_path}/pid.new {tmp_path}/pid\n{script}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(tools, "find", lambda *_: tools.Tools({tools.QEMU.command: program}, dict(os.environ)))
        kernel = Kernel("x", "x", tmp_path / "Image", None, None)
        made = machine.Machine(kernel, tmp_path / "initramfs", 256 << 20, 256 << 20, 1, None, wall_limit_s)
        heard: list[records.AnyRecord] = []
        machine.run(made, tmp_path / "console", heard.append, stopped)
        return heard

    yield go
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_records_are_separated_from_the_kernel_s_lines(run) -> None:
    first = """printf '[ 0.1] hello\\r\\n@swaplab {"record":"progress",' > $console"""
    heard = run(f"""{first}; sleep 0.2; printf '"visits":3}}\\n{END}\\n' >> $console""")
    assert [type(one) for one in heard] == [records.Progress, records.End]


def test_a_panic_shows_the_consoles_last_lines(run) -> None:
    with pytest.raises(Failed, match="stopped before its end.*Kernel panic - not syncing: no init"):
        run("printf 'one\\n[ 1.0] Kernel panic - not syncing: no init\\n' > $console")


def test_a_panic_is_reported_although_a_call_trace_follows_it(run) -> None:
    with pytest.raises(Failed, match="its end: Kernel panic - not syncing: no init; its console ends with: 3 .*8$"):
        run("printf 'Kernel panic - not syncing: no init\\n1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n' > $console")


def test_a_guest_that_gives_up_reports_the_reason(run) -> None:
    with pytest.raises(Failed, match="gave up: no /dev/nvm"):
        run("""printf '@swaplab {"record":"failed","message":"no /dev/nvm"}\\n' > $console; sleep 60""")


def test_a_hang_ends_at_the_wall_limit(run) -> None:
    began = time.monotonic()
    with pytest.raises(Failed, match="run.vm.wall_limit = 1 s.*its console is empty"):
        run("sleep 60", wall_limit_s=1)
    assert time.monotonic() - began < 10


def test_an_interrupt_ends_qemu(run, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run("sleep 60", stopped=(tmp_path / "pid").exists)


def test_qemu_s_error_message_is_reported(run) -> None:
    with pytest.raises(NotSupported, match="cannot set up guest memory"):
        run("echo 'qemu: cannot set up guest memory' >&2; exit 1")


def test_an_unknown_record_is_an_error(run) -> None:
    with pytest.raises(Failed, match="unknown record"):
        run("""printf '@swaplab {"record":"visits"}\\n' > $console""")
