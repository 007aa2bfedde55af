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
#: Sizes of the probes' memory in MiB, whole sections.
SIZES = (256, 512)
SECTION = 128 * MIB


class OwnWork(BaseModel):
    """An app's processor time in ns in a start and in a resume, without reclaim."""

    cold_ns: float
    resume_ns: float

    def values(self) -> dict[str, str]:
        """Return the values for `set` of `phone-app`."""
        return {"cold": f"{self.cold_ns / 1e6:.3f}ms", "resume": f"{self.resume_ns / 1e6:.3f}ms"}


class Facts(BaseModel):
    """Memory of a guest's kernel and processes.

    `reserved_*`: bytes that the kernel reserves at boot, as a base and an amount for each section
    of memory, of which page structures exist as a whole (`SECTION_SIZE_BITS` of x86-64,
    arch/x86/include/asm/sparsemem.h). `used_*`: bytes that it uses once apps run, as a base and a
    share. `app_bytes`: bytes of an app's process besides its pages.
    """

    reserved_base: float
    reserved_section: float
    used_base: float
    used_share: float
    app_bytes: float

    def reserved(self, dram: int) -> float:
        """Compute the bytes of a guest's memory that its kernel does not manage."""
        return self.reserved_base + self.reserved_section * -(-dram // SECTION)

    def used(self, dram: int, apps: int) -> float:
        """Compute the bytes in use in addition to the pages of `apps` apps."""
        return self.used_base + self.used_share * dram + apps * self.app_bytes

    def dram(self, wanted: float, apps: int) -> float:
        """Compute the memory of a guest in which `apps` apps have `wanted` bytes."""
        own = wanted + self.reserved_base + self.used(0, apps)
        sections = 1
        while (dram := (own + sections * self.reserved_section) / (1 - self.used_share)) > sections * SECTION:
            sections += 1
        return dram


def measure(kernel: str) -> Facts:
    """Measure the facts in two guests with different memory, each with a few apps and no swap."""
    small, large = (run_guest(PROBE, kernel, size) for size in SIZES)
    reserved = [size * MIB - _total(outcome) for size, outcome in zip(SIZES, (small, large), strict=True)]
    reserved_section = (reserved[1] - reserved[0]) * SECTION / ((SIZES[1] - SIZES[0]) * MIB)
    used_base, used_share = _line([_other_bytes(outcome)[0] for outcome in (small, large)])
    other_bytes = _other_bytes(large)
    app_bytes = (other_bytes[-1] - other_bytes[0]) / (APPS - 1)
    return Facts(
        reserved_base=reserved[0] - reserved_section * SIZES[0] * MIB / SECTION,
        reserved_section=reserved_section,
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


class Own(BaseModel):
    """The apps' own processor times, and the memory in use in addition to their pages, in bytes:
    the kernel's with its swap device, and that of the guest's and the apps' processes.
    """

    work: dict[str, OwnWork]
    used_bytes: float


def own_of(apps: list[Use], footprint: int, scheme: str, killer: str, kernel: str, mebibytes: int) -> Own:
    """Measure what is an app's or the system's own: the apps are started and resumed in turn in a
    guest with ample memory, with the swap scheme and the killer but nothing to swap out or to kill.
    A killer locks its memory, as Android's does. `footprint`: bytes of all apps' pages.
    """
    times: dict[tuple[str, str], list[int]] = {}
    outcome = run_guest(apps, kernel, mebibytes, scheme, killer)
    for visit in outcome.visits:
        times.setdefault((visit.app, visit.start), []).append(visit.process.cpu_ns)
    work = {name: OwnWork(cold_ns=median(times[name, "cold"]), resume_ns=median(times[name, "resume"])) for name, _ in times}
    last = outcome.visits[-1]
    assert last.alive == len(apps)
    assert last.so_far.swap_out_pages == 0, "memory was ample"
    return Own(work=work, used_bytes=_total(outcome) - _free(last) - footprint)
