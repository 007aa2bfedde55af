"""Facts of a guest that the phone needs, counted in guests in which nothing is reclaimed: what its kernel takes, and an app's own work."""

from __future__ import annotations

from statistics import median

from pydantic import BaseModel
from swaplab.core.model import Use
from swaplab.worlds.vm.guest import Outcome

from benches.validation.guests import MIB, run_guest

#: The probe's apps, in MiB.
FOOTPRINT, APPS = 36, 4
PROBE = [Use.model_validate({"use": "phone-app", "name": "app", "count": APPS, "footprint": f"{FOOTPRINT}MiB"})]
SIZES = (256, 512)


class OwnWork(BaseModel):
    """An app's processor time in a start and in a resume when nothing is reclaimed, in ns."""

    cold_ns: float
    resume_ns: float

    def values(self) -> dict[str, str]:
        """As `set` of `phone-app` takes them."""
        return {"cold": f"{self.cold_ns / 1e6:.3f}ms", "resume": f"{self.resume_ns / 1e6:.3f}ms"}


class Facts(BaseModel):
    """Bytes that the kernel keeps from the start (`reserved_base` and a share of memory, for its page structures), that it uses once apps
    run (`used_base` and a share, for the free pages that a processor keeps by itself), and that an app's process has beside its pages."""

    reserved_base: float
    reserved_share: float
    used_base: float
    used_share: float
    app_bytes: float

    def reserved(self, dram: int) -> float:
        """Bytes of a guest's memory that its kernel never manages."""
        return self.reserved_base + self.reserved_share * dram

    def used(self, dram: int, apps: int) -> float:
        """Bytes in use beside the pages of so many apps."""
        return self.used_base + self.used_share * dram + apps * self.app_bytes

    def dram(self, wanted: float, apps: int) -> float:
        """A guest's memory in which so many apps find `wanted` bytes."""
        own = self.reserved_base + self.used_base + apps * self.app_bytes
        return (wanted + own) / (1 - self.reserved_share - self.used_share)


def measure(kernel: str) -> Facts:
    """Two guests of different memory, each with a few apps and no swap."""
    small, large = (run_guest(PROBE, kernel, size) for size in SIZES)
    reserved_base, reserved_share = _line([size * MIB - _total(outcome) for size, outcome in zip(SIZES, (small, large), strict=True)])
    used_base, used_share = _line([_beside(outcome)[0] for outcome in (small, large)])
    beside = _beside(large)
    app_bytes = (beside[-1] - beside[0]) / (APPS - 1)
    return Facts(
        reserved_base=reserved_base,
        reserved_share=reserved_share,
        used_base=used_base - app_bytes,
        used_share=used_share,
        app_bytes=app_bytes,
    )


def _line(bytes_by_size: list[float]) -> tuple[float, float]:
    """The base, and the share of memory, of what was counted in the two guests."""
    share = (bytes_by_size[1] - bytes_by_size[0]) / ((SIZES[1] - SIZES[0]) * MIB)
    return bytes_by_size[0] - share * SIZES[0] * MIB, share


def _beside(outcome: Outcome) -> list[float]:
    """What is in use beside the pages of the apps that have been started, after each start."""
    starts = enumerate(outcome.visits[:APPS])
    return [_total(outcome) - visit.memory.free_kb * 1024 - (at + 1) * FOOTPRINT * MIB for at, visit in starts]


def _total(outcome: Outcome) -> int:
    assert outcome.started is not None
    return outcome.started.memory_bytes


def own_work(apps: list[Use], kernel: str, mebibytes: int) -> dict[str, OwnWork]:
    """Each app's own work: the apps are started and resumed in turn, in a guest with memory to spare."""
    times: dict[tuple[str, str], list[int]] = {}
    for visit in run_guest(apps, kernel, mebibytes).visits:
        times.setdefault((visit.app, visit.start), []).append(visit.process.cpu_ns)
    return {name: OwnWork(cold_ns=median(times[name, "cold"]), resume_ns=median(times[name, "resume"])) for name, _ in times}
