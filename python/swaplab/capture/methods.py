"""The tools that trace a program: QEMU with swaplab's plugin, and valgrind's lackey."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

from swaplab.capture.program import Program
from swaplab.core.errors import BadInput, NotSupported

METHODS = ("auto", "qemu", "lackey")
#: The method that records a machine's block requests, and traces no program.
BLOCK = "block"

#: Debian's folder of a cross compiler's C library, the default of --root.
CROSS_ROOT = {"aarch64": Path("/usr/aarch64-linux-gnu")}

PACKAGES = "qemu-user (on Debian: apt-get install qemu-user) or valgrind (apt-get install valgrind)"


def plugin() -> Path:
    """Return the path of the QEMU plugin, which `make build` puts into the package."""
    return Path(__file__).parent.parent / "_native" / "libswaplab_capture_plugin.so"


def missing(method: str, arch: str) -> str | None:
    """Return why `method` cannot trace programs for `arch` on this machine; None if it can."""
    if method == "qemu":
        if shutil.which(f"qemu-{arch}") is None:
            return f"qemu-{arch} is not installed (on Debian: apt-get install qemu-user)"
        if not plugin().exists():
            return f"the plugin {plugin().name} is not built (make build)"
        if not _has_plugins(f"qemu-{arch}"):
            return f"this qemu-{arch} is built without plugins, as Debian 13's is"
        return None
    if arch != platform.machine():
        return f"lackey runs programs for {platform.machine()} only"
    if shutil.which("valgrind") is None:
        return "valgrind is not installed (on Debian: apt-get install valgrind)"
    return None


def _has_plugins(emulator: str) -> bool:
    """Whether an emulator can load plugins: its help lists the option."""
    help_text = subprocess.run([emulator, "-h"], capture_output=True, text=True, check=False).stdout
    return re.search(r"^-plugin\b", help_text, re.MULTILINE) is not None


def choose(method: str, arch: str) -> str:
    """Choose the method; `auto` prefers QEMU to lackey. Raises NotSupported if none is
    available.
    """
    if method not in METHODS:
        raise BadInput(f"--method: '{method}'; expected one of: {' '.join((*METHODS, BLOCK))}")
    wanted = ("qemu", "lackey") if method == "auto" else (method,)
    reasons = {name: missing(name, arch) for name in wanted}
    for name, reason in reasons.items():
        if reason is None:
            return name
    why = "; ".join(str(reason) for reason in reasons.values())
    raise NotSupported(f"trace capture needs {PACKAGES}: {why}" if method == "auto" else f"trace capture --method {method}: {why}")


def qemu(program: Program, root: Path | None, plugin_arguments: dict[str, object]) -> list[str]:
    """Build the command line that runs `program` under QEMU with the plugin."""
    arguments = ",".join(f"{key}={value}" for key, value in plugin_arguments.items())
    root = root or CROSS_ROOT.get(program.arch)
    library = ["-L", str(root)] if root is not None else []
    return [f"qemu-{program.arch}", *library, "-plugin", f"{plugin()},{arguments}", *program.command]


def lackey(program: Program, descriptor: int) -> list[str]:
    """Build the command line that runs `program` under lackey, which prints to `descriptor`."""
    options = ["--basic-counts=no", "--trace-mem=yes", "--trace-syscalls=yes", "--child-silent-after-fork=yes"]
    return ["valgrind", "--tool=lackey", *options, f"--log-fd={descriptor}", *program.command]
