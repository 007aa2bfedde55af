"""What reclaim costs the guest's processor, by microbenchmarks in the guest: apps of anonymous
pages that are all swapped out and in, and apps of file pages that are dropped and read again.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from statistics import median

from pydantic import BaseModel
from swaplab._core import device_service
from swaplab.core.model import Use
from swaplab.worlds.vm.guest import Outcome
from swaplab.worlds.vm.records import Visit

from benches.validation.guests import NVM, run_guest

#: Three apps, of which two fit into memory, so that each one's pages are in swap when it is
#: resumed.
FOOTPRINT, APPS, MEMORY = 48, 3, 192
MICRO = [
    Use.model_validate(
        {
            "use": "phone-app",
            "name": "micro",
            "count": APPS,
            "footprint": f"{FOOTPRINT}MiB",
            "file_share": 0,
            "hot_share": 1,
            "write_ratio": 0.5,
        }
    )
]
MICRO_FILES = [MICRO[0].model_copy(update={"file_share": 1.0})]
SWAP = f"size={2 * FOOTPRINT * APPS}MiB"
#: Pages of a read of a file (`machine.kernel.read_ahead`).
READ_AHEAD = 32
#: Pages of a file that a fault maps, if they are in memory (`fault_around_bytes`).
FAULT_AROUND = 16
#: Resumes in which kswapd frees fewer pages are not used, nor those with fewer faults for the price
#: of a fault.
FEW = 500
#: MiB that are added to the memory and, for each, KiB by which each app is smaller, one after the
#: other, until reclaim scans pages that it does not evict.
EXTRA, SMALLER = range(2, 22, 2), (0, 256, 512)
SPEC = Path(__file__).parents[2] / "target" / "guest-processor.toml"
#: Not measured but taken from specs/x86-64.toml. The total of a fault is measured, so they only
#: affect its division into parts.
FAULT_NS, MAP_NS, COPY_NS = 560, 400, 400


class Prices(BaseModel):
    """Processor times of the guest per page in ns: scan in reclaim, fault until swap's read
    request, block request, lz4 both ways, eviction of an anonymous and of a file page besides its
    scan, a file page that is read again, and the fault at the use of a page whose accessed bit
    reclaim has cleared (0 in results of commits before this price).
    """

    scan_ns: float
    swap_in_ns: float
    block_request_ns: float
    compress_ns: float
    decompress_ns: float
    anon_out_ns: float
    file_out_ns: float
    file_in_ns: float
    access_fault_ns: float = 0

    def of_kernel(self, gips: float = 1.0) -> dict[str, int]:
        """Return the keys of `machine.kernel` with the prices on a core of `gips` GIPS."""
        names = ("scan_ns", "anon_out_ns", "file_out_ns", "file_in_ns", "access_fault_ns")
        return {name: max(0, round(getattr(self, name) / gips)) for name in names}

    def spec(self, gips: float = 1.0) -> str:
        """Write a processor file for `machine.devices` with the prices on a core of `gips` GIPS.
        Returns its path.

        All algorithms have lz4's price, as no other one is drawn.
        """
        source = "a microbenchmark in the guest, benches/validation/prices.py"
        values: dict[str, float] = {"fault_ns": FAULT_NS, "map_ns": MAP_NS, "copy_ns": COPY_NS}
        values |= {"swap_in_ns": self.swap_in_ns, "block_request_ns": self.block_request_ns, "active_mw": 1000}
        for algorithm in ("lzo_rle", "lz4", "zstd"):
            values |= {f"compress_{algorithm}_ns": self.compress_ns, f"decompress_{algorithm}_ns": self.decompress_ns}
        values = {name: value if name == "active_mw" else value / gips for name, value in values.items()}
        lines = [f'{name} = {{ value = {max(0, round(value))}, source = "{source}" }}' for name, value in values.items()]
        head = f'what = "the processor of a guest under virtual time: {gips:g} instructions a ns"\nattachment = "processor"\n\n[cpu]\n'
        SPEC.parent.mkdir(exist_ok=True)
        SPEC.write_text(head + "\n".join(lines) + "\n")
        return str(SPEC)


def measure_prices(kernel: str, mglru: bool = False) -> Prices:
    """Measure the prices in guests: one without pressure and one for each kind of swap, two with
    file pages, without pressure and with it, and more until one has little of it.
    """
    calm = run_guest(MICRO, kernel, MEMORY + 2 * FOOTPRINT * APPS, mglru=mglru)
    own = median(visit.process.cpu_ns for visit in calm.visits if visit.start == "resume")
    nvm, flash, zram = (_resumes(run_guest(MICRO, kernel, MEMORY, f"{swap}:{SWAP}", mglru=mglru)) for swap in ("nvm-copy", "flash", "zram"))
    # The scan price is fitted on NVM, where writing a page is a single store, so that scanning has
    # the largest share.
    scan = _scan_price(nvm)
    _, nvm_read, nvm_transfer, nvm_write, nvm_write_transfer = device_service(NVM)
    swap_in = _into(nvm, own, scan) - FAULT_NS - COPY_NS - nvm_read - nvm_transfer
    block_request = _into(flash, own, scan) - FAULT_NS - swap_in
    anon_out = _freed_price(nvm) - COPY_NS - nvm_write - nvm_write_transfer
    own_of_files, files = _own_of_files(MICRO_FILES, kernel, mglru), _files(run_guest(MICRO_FILES, kernel, MEMORY, mglru=mglru))
    access_fault = _access_fault(kernel, mglru)
    return Prices(
        scan_ns=scan,
        swap_in_ns=swap_in,
        block_request_ns=block_request,
        decompress_ns=_into(zram, own, scan) - FAULT_NS - swap_in,
        compress_ns=_out(zram, scan) - anon_out,
        anon_out_ns=anon_out,
        file_out_ns=_out(files, scan),
        file_in_ns=_file_in(files, own_of_files, scan, access_fault) - block_request / READ_AHEAD,
        access_fault_ns=access_fault,
    )


def _resumes(outcome: Outcome) -> list[Visit]:
    visits = [visit for visit in outcome.visits if visit.start == "resume" and visit.kernel.get("pgsteal_kswapd", 0) > FEW]
    assert visits, "the microbenchmark swapped nothing in"
    return visits


def _files(outcome: Outcome) -> list[Visit]:
    """List the resumes of an app of file pages: those with reclaim, if there are any."""
    resumes = [visit for visit in outcome.visits if visit.start == "resume"]
    return [visit for visit in resumes if visit.kernel.get("pgsteal_kswapd", 0) > FEW] or resumes


def _scanned(visit: Visit) -> int:
    """Count the pages that kswapd scanned, including active ones, whose scans are not counted by
    task but are mostly kswapd's.
    """
    return visit.kernel["pgscan_kswapd"] + visit.kernel.get("pgrefill", 0)


def _scan_price(visits: list[Visit]) -> float:
    """Fit the part of kswapd's time that depends on scanned pages, not on freed ones."""
    return _kswapd_prices(visits)[0]


def _freed_price(visits: list[Visit]) -> float:
    """Fit the part of kswapd's time that depends on freed pages."""
    return _kswapd_prices(visits)[1]


def _kswapd_prices(visits: list[Visit]) -> tuple[float, float]:
    """Fit kswapd's time per scanned and per freed page by least squares through zero."""
    rows = [(visit.kernel["pgsteal_kswapd"], _scanned(visit), visit.kswapd_ns) for visit in visits]
    freed_ns, scan_ns = _least_squares([(float(freed), float(scanned), float(ns)) for freed, scanned, ns in rows])
    return scan_ns, freed_ns


def _least_squares(rows: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Fit the factors of the first two values of each row whose sum is the third, through zero."""
    first2, both, second2 = (sum(row[a] * row[b] for row in rows) for a, b in ((0, 0), (0, 1), (1, 1)))
    first, second = (sum(row[a] * row[2] for row in rows) for a in (0, 1))
    determinant = first2 * second2 - both * both
    return (second2 * first - both * second) / determinant, (first2 * second - both * first) / determinant


def _out(visits: list[Visit], scan_ns: float) -> float:
    """Compute kswapd's time per swapped-out page, without scanning."""
    return sum(visit.kswapd_ns - scan_ns * _scanned(visit) for visit in visits) / sum(visit.kernel["pgsteal_kswapd"] for visit in visits)


def _own_of_files(apps: list[Use], kernel: str, mglru: bool) -> float:
    """Measure the processor time of a resume of apps of file pages in a guest with free memory."""
    calm = run_guest(apps, kernel, MEMORY + 2 * FOOTPRINT * APPS, mglru=mglru)
    return median(visit.process.cpu_ns for visit in _files(calm))


def _access_fault(kernel: str, mglru: bool) -> float:
    """Compute an app's time per fault in resumes that read nothing: the processor of the guest
    faults on a page whose accessed bit reclaim has cleared.
    """
    for extra, smaller in product(EXTRA, SMALLER):
        apps = [MICRO_FILES[0].model_copy(update={"footprint": f"{1024 * FOOTPRINT - smaller}KiB"})]
        visits = _files(run_guest(apps, kernel, MEMORY + extra, mglru=mglru))
        quiet = [visit for visit in visits if not visit.kernel.get("workingset_refault_file") and visit.kernel["pgfault"] > FEW]
        if quiet:
            own_ns = _own_of_files(apps, kernel, mglru)
            return median((visit.process.cpu_ns - own_ns) / visit.kernel["pgfault"] for visit in quiet)
    raise AssertionError("no resume had faults on pages in memory alone")


def _file_in(visits: list[Visit], own_ns: float, scan_ns: float, access_fault_ns: float) -> float:
    """Compute an app's time per page of its file that is read again, without faults on other
    pages.
    """
    out = _out(visits, scan_ns)
    total = 0.0
    for visit in visits:
        others = max(0.0, visit.kernel["pgfault"] - visit.kernel["workingset_refault_file"] / FAULT_AROUND)
        total += visit.process.cpu_ns - own_ns - _direct(visit, out, scan_ns) - others * access_fault_ns
    return total / sum(visit.kernel["workingset_refault_file"] for visit in visits)


def _direct(visit: Visit, out_ns: float, scan_ns: float) -> float:
    """Compute the time of direct reclaim at kswapd's price."""
    return out_ns * visit.kernel.get("pgsteal_direct", 0) + scan_ns * visit.kernel.get("pgscan_direct", 0)


def _into(visits: list[Visit], own_ns: float, scan_ns: float) -> float:
    """Compute an app's time per swapped-in page: its processor time without its work and its direct
    reclaim at kswapd's price.
    """
    out = _out(visits, scan_ns)
    direct = sum(_direct(visit, out, scan_ns) for visit in visits)
    return (sum(visit.process.cpu_ns - own_ns for visit in visits) - direct) / sum(visit.kernel["pswpin"] for visit in visits)
