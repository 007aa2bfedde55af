"""The journal of changes to the machine, with files as changes: a full disk, a truncated line, a
folder writable by others.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from swaplab.core.errors import NotSupported
from swaplab.worlds.kernel import journal
from swaplab.worlds.kernel.undo import RemoveFile


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "state"
    monkeypatch.setattr(journal, "STATE", place)
    return place


def change(machine: journal.Machine, file: Path, steps: int) -> None:
    """Make `steps` files in nested steps; each must exist until the end."""
    if steps == 0:
        return
    own = file.with_name(f"{file.name}-{steps}")
    with machine.step(f"touch {own}", own.touch, RemoveFile(str(own))):
        change(machine, file, steps - 1)
        assert own.exists()


@pytest.mark.parametrize("pages", [1, 2])
def test_a_full_disk_leaves_no_change_to_the_machine(state: Path, tmp_path: Path, pages: int) -> None:
    """The journal's disk is full after a few steps: the next one is not made, the others are
    undone, and there is nothing to repair.
    """
    state.mkdir(mode=0o700)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={4 * pages}k,mode=700", "tmpfs", state], capture_output=True).returncode:
        pytest.skip("no right to mount a file system")
    try:
        with pytest.raises(OSError, match="No space left"), journal.Machine().opened() as machine:
            change(machine, tmp_path / "made", 100)
        assert list(tmp_path.glob("made*")) == [] and journal.orphaned_journals() == [] and list(state.glob("*.journal")) == []
    finally:
        subprocess.run(["umount", state], check=True)


def test_a_truncated_line_hides_no_other_line(state: Path, tmp_path: Path) -> None:
    state.mkdir(mode=0o700)
    made = tmp_path / "made"
    made.touch()
    path = state / "1-x.journal"
    with path.open("wb", buffering=0) as file:
        journal._append(file, {"boot": journal._boot()})
        file.write(b'\n{"step": 0, "what": "cu')
        journal._append(file, {"step": 1, "what": "touch", "undo": {"kind": "RemoveFile", "path": str(made)}})
    assert journal.repair(lambda line: None) == [] and not made.exists() and not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder away needs root")
def test_a_journal_that_others_may_write_is_not_acted_on(state: Path, tmp_path: Path) -> None:
    """Its operations would be performed as root."""
    state.mkdir()
    victim = tmp_path / "victim"
    victim.touch()
    with (state / "1-x.journal").open("wb", buffering=0) as file:
        journal._append(file, {"boot": journal._boot()})
        journal._append(file, {"step": 0, "what": "touch", "undo": {"kind": "RemoveFile", "path": str(victim)}})
    for mode, owner in ((0o777, 0), (0o770, 0), (0o700, 65534)):
        os.chmod(state, mode)
        os.chown(state, owner, -1)
        with pytest.raises(NotSupported, match="must belong to user 0 and be writable by no other user"):
            journal.repair(lambda line: None)
        with pytest.raises(NotSupported, match="must belong to user 0 and be writable by no other user"), journal.Machine().opened():
            pass
        assert victim.exists()
