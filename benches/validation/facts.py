"""Facts that the phone needs, measured in guests without reclaim: the kernel's memory, and the
processor time of apps.
"""

from __future__ import annotations

from statistics import median

from pydantic import BaseModel
from swaplab.core.model import Use
from swaplab.worlds.vm.guest import Outcome
from swaplab.worlds.vm.records import Visit

from benches.validation.guests import MIB, run_guest

#: The probe's apps: footprint in MiB, and their number.
FOOTPRINT, APPS = 36, 4
PROBE = [Use.model_validate({"use": "phone-app", "name": "app", "count": APPS, "footprint": f"{FOOTPRINT}MiB"})]
SIZES = (256, 512)


class OwnWork(BaseModel):
    """An app's processor time in ns in a start and in a resume, without reclaim."""

    cold_ns: float
    resume_ns: float

    def values(self) -> dict[str, str]:
        """Return the values for `set` of `phone-app`."""
        return {"cold": f"{self.cold_ns / 1e6:.3f}ms", "resume": f"{self.resume_ns / 1e6:.3f}ms"}


class Facts(BaseModel):
    """Memory of a guest's kernel and processes.

    `reserved_*`: bytes that the kernel reserves at boot, as a base and a share of memory (for page
    structures). `used_*`: bytes that it uses once apps run, as a base and a share. `app_bytes`:
    bytes of an app's process besides its pages.
    """

    reserved_base: float
    reserved_share: float
    used_base: float
    used_share: float
    app_bytes: float

    def reserved(self, dram: int) -> float:
        """Compute the bytes of a guest's memory that its kernel does not manage."""
        return self.reserved_base + self.reserved_share * dram

    def used(self, dram: int, apps: int) -> float:
        """Compute the bytes in use in addition to the pages of `apps` apps."""
        return self.used_base + self.used_share * dram + apps * self.app_bytes

    def dram(self, wanted: float, apps: int) -> float:
        """Compute the memory of a guest in which `apps` apps have `wanted` bytes."""
        own = self.reserved_base + self.used_base + apps * self.app_bytes
        return (wanted + own) / (1 - self.reserved_share - self.used_share)


def measure(kernel: str) -> Facts:
    """Measure the facts in two guests with different memory, each with a few apps and no swap."""
    small, large = (run_guest(PROBE, kernel, size) for size in SIZES)
    reserved_base, reserved_share = _line([size * MIB - _total(outcome) for size, outcome in zip(SIZES, (small, large), strict=True)])
    used_base, used_share = _line([_other_bytes(outcome)[0] for outcome in (small, large)])
    other_bytes = _other_bytes(large)
    app_bytes = (other_bytes[-1] - other_bytes[0]) / (APPS - 1)
    return Facts(
        reserved_base=reserved_base,
        reserved_share=reserved_share,
        used_base=used_base - app_bytes,
        used_share=used_share,
        app_bytes=app_bytes,
    )


def _line(bytes_by_size: list[float]) -> tuple[float, float]:
    """Compute base and share of memory from the bytes in the two guests."""
    share = (bytes_by_size[1] - bytes_by_size[0]) / ((SIZES[1] - SIZES[0]) * MIB)
    return bytes_by_size[0] - share * SIZES[0] * MIB, share


def _other_bytes(outcome: Outcome) -> list[float]:
    """Compute the bytes in use in addition to the pages of the started apps, after each start."""
    starts = enumerate(outcome.visits[:APPS])
    return [_total(outcome) - _free(visit) - (at + 1) * FOOTPRINT * MIB for at, visit in starts]


def _free(visit: Visit) -> int:
    """Compute the free bytes. Without reclaim a processor's own list may hold an eighth of memory
    (`zone_highsize`, mm/page_alloc.c); with reclaim it holds next to nothing.
    """
    return (visit.memory.free_kb + visit.memory.per_cpu_free_kb) * 1024


def _total(outcome: Outcome) -> int:
    assert outcome.started is not None
    return outcome.started.memory_bytes


def own_work(apps: list[Use], kernel: str, mebibytes: int) -> dict[str, OwnWork]:
    """Measure each app's processor time: the apps are started and resumed in turn in a guest with
    ample memory.
    """
    times: dict[tuple[str, str], list[int]] = {}
    for visit in run_guest(apps, kernel, mebibytes).visits:
        times.setdefault((visit.app, visit.start), []).append(visit.process.cpu_ns)
    return {name: OwnWork(cold_ns=median(times[name, "cold"]), resume_ns=median(times[name, "resume"])) for name, _ in times}
