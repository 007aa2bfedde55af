"""Signals that end a run."""

import signal
from collections.abc import Iterator

import pytest
from swaplab.core.signals import STOPPING, stop_on_signals


@pytest.fixture
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("ignored", STOPPING)
def test_an_ignored_signal_stays_ignored_and_the_others_raise(handlers: None, ignored: signal.Signals):
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN if number == ignored else signal.SIG_DFL)
    stop_on_signals()
    assert signal.getsignal(ignored) is signal.SIG_IGN
    for number in STOPPING:
        if number != ignored:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
