"""Signals to `swaplab exec` around the start and the end of its program."""

import os
import signal
import subprocess
import sys

from swaplab.worlds.memory.execute import FORWARDED, _forwarded_signals


def test_a_signal_before_the_start_reaches_the_program():
    code = "import signal; signal.pause()"
    with _forwarded_signals() as forward_to:
        os.kill(os.getpid(), signal.SIGTERM)
        program = subprocess.Popen([sys.executable, "-c", code])
        forward_to(program)
        assert program.wait(20) == -signal.SIGTERM


def test_a_signal_after_the_end_is_dropped():
    with _forwarded_signals() as forward_to:
        program = subprocess.Popen(["true"])
        forward_to(program)
        assert program.wait(20) == 0
        for number in (*FORWARDED, signal.SIGINT, signal.SIGQUIT):
            os.kill(os.getpid(), number)


def test_a_program_inherits_no_ignored_signal():
    code = (
        "import signal; print([s.name for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM) if signal.getsignal(s) == signal.SIG_IGN])"
    )
    with _forwarded_signals() as forward_to:
        program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        forward_to(program)
        assert program.communicate(timeout=20)[0] == "[]\n"
