"""Measures of Kim & Bahn's claims about launches, on the simulated phone: by the killer of the
paper's text, which runs when swap is full, and by Android's own (minfree). An interval over apps is
of the six that the paper measures; one over users has sizes drawn anew."""

from __future__ import annotations

from pathlib import Path

from swaplab.analysis.papers import Measured, interval_text
from swaplab.analysis.papers_users import (
    Users,
    io_share,
    killed,
    mean,
    mean_over_items,
    medians_by_app,
    over,
    processor_ms,
    times,
    users_of,
)
from swaplab.core import experiment as experiments

HERE = Path(__file__).resolve().parent
#: Angry Bird, BBC News, Chrome, Instagram, Farm Story, Cut the rope.
MEASURED_APPS = ("app1", "app6", "app7", "app11", "app16", "app18")
#: Those of them that the new architecture makes faster than original Android: Chrome, Instagram,
#: Farm Story, Cut the rope.
FASTER_APPS = ("app7", "app11", "app16", "app18")
NONE, FLASH, CACHED = "none", "flash", "nvm-cache"
#: Added to a design's name: the killer of the paper's text, and none at all.
WHEN_FULL, OFF = ", killer when swap is full", ", killer off"
#: Bytes that pass storage, file reads and the swap area's.
STORAGE = ("paging.file_read_bytes", "paging.swap_in_bytes", "paging.swap_out_bytes")
#: A queue that makes a read wait for every write before it, none of them merged: what a quick queue
#: may hide.
SLOW_QUEUE = ("machine.kernel.io_order=noop", "machine.kernel.max_request=4KiB")


def _users(*changes: str) -> Users:
    return users_of(experiments.read(HERE / "phone.toml", list(changes)))


def _ratios(users: Users, design: str, than: str, apps: tuple[str, ...] = MEASURED_APPS) -> dict[str, float]:
    """By app: the median launch under one design over that under another."""
    ours, theirs = (medians_by_app(users, name) for name in (design, than))
    return {app: ours[app] / theirs[app] for app in apps}


def _slower(users: Users, killer: str) -> Measured:
    ratios = _ratios(users, FLASH + killer, NONE)
    value, sure = mean_over_items(ratios)
    low, high = min(ratios.values()), max(ratios.values())
    return Measured(value, f"{value:.2f} times ({low:.2f} to {high:.2f}; {interval_text(sure, '.2f')})", interval=sure)


def launches_slower() -> Measured:
    return _slower(_users(), "")


def launches_slower_when_full() -> Measured:
    return _slower(_users(), WHEN_FULL)


def launches_slower_slow_queue() -> Measured:
    return _slower(_users(*SLOW_QUEUE), WHEN_FULL)


def _io_share(killer: str) -> Measured:
    value, sure = over(_users(), lambda users: 100 * io_share(users, FLASH + killer))
    return Measured(value, f"{value:.0f} % of all launches' time ({interval_text(sure, '.0f')})", interval=sure)


def io_share_minfree() -> Measured:
    return _io_share("")


def io_share_when_full() -> Measured:
    return _io_share(WHEN_FULL)


def _storage(design: str) -> Measured:
    value, sure = over(_users(), times(design, NONE, *STORAGE))
    return Measured(value, f"{value:.2f} times ({interval_text(sure, '.2f')})", interval=sure)


def storage_accesses() -> Measured:
    return _storage(FLASH)


def storage_accesses_when_full() -> Measured:
    return _storage(FLASH + WHEN_FULL)


def storage_accesses_off() -> Measured:
    return _storage(FLASH + OFF)


def _flash_accesses(users: Users, design: str) -> float:
    """Bytes to and from flash, of which pages that the NVM holds are none."""
    total = 0.0
    for user in users:
        media = user.rows[design].media.get("flash")
        total += 0.0 if media is None else media.read_bytes + media.write_bytes
    return total / len(users)


def below_original_1gb_on_phone() -> Measured:
    design = "nvm-cache 1 GiB" + WHEN_FULL
    value, sure = over(_users(), lambda users: _flash_accesses(users, design) / _flash_accesses(users, NONE))
    return Measured(value, f"{value:.2f} times the bytes of flash without swap ({interval_text(sure, '.2f')})", interval=sure)


def _cpu(killer: str) -> Measured:
    value, sure = over(_users(), lambda users: processor_ms(users, FLASH + killer) / processor_ms(users, NONE))
    return Measured(value, f"{value:.2f} times ({interval_text(sure, '.2f')})", interval=sure)


def processor_time() -> Measured:
    return _cpu("")


def processor_time_when_full() -> Measured:
    return _cpu(WHEN_FULL)


def _faster(design: str, than: str, apps: tuple[str, ...] = MEASURED_APPS) -> Measured:
    gains = {app: 100 * (1 - ratio) for app, ratio in _ratios(_users(), design, than, apps).items()}
    value, sure = mean_over_items(gains)
    text = f"{value:.1f} % ({min(gains.values()):.1f} to {max(gains.values()):.1f}; {interval_text(sure)})"
    return Measured(value, text, interval=sure, n=len(gains))


def launches_faster() -> Measured:
    return _faster(CACHED, FLASH)


def launches_faster_when_full() -> Measured:
    return _faster(CACHED + WHEN_FULL, FLASH + WHEN_FULL)


def launches_faster_without_admission() -> Measured:
    return _faster("nvm-cache of all swap, every page admitted" + WHEN_FULL, FLASH + WHEN_FULL)


def faster_than_original() -> Measured:
    return _faster(CACHED, NONE, FASTER_APPS)


def faster_than_original_when_full() -> Measured:
    return _faster(CACHED + WHEN_FULL, NONE, FASTER_APPS)


def _oom_kills(killer: str) -> Measured:
    """Kills by the kernel, when reclaim has failed to free a frame."""
    design = FLASH + killer
    value, sure = over(_users(), lambda users: killed(users, design, "out-of-memory"))
    others = mean(_users(), design, "launches.kills") - value
    return Measured(value, f"{value:.1f} kills by the kernel ({interval_text(sure)}), {others:.1f} others", interval=sure)


def oom_kills() -> Measured:
    return _oom_kills("")


def oom_kills_off() -> Measured:
    return _oom_kills(OFF)


def launch_gain_slip() -> Measured:
    """The introduction's average of how much faster launches are, less that of the results."""
    return Measured(82.0 - 77.0, "82 % in Section I, 77 % in Section IV-C")
