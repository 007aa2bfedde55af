"""What swapping costs the guest's processor, by a microbenchmark in the guest: apps of anonymous pages that are all swapped out and in."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from pydantic import BaseModel
from swaplab._core import device_service
from swaplab.core.model import Use
from swaplab.worlds.vm.guest import Outcome
from swaplab.worlds.vm.records import Visit

from benches.validation.guests import NVM, run_guest

#: Three apps, of which two fit into memory: each comes back to find its pages in swap.
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
SWAP = f"size={2 * FOOTPRINT * APPS}MiB"
#: A resume in which kswapd frees fewer pages says nothing about a page's price.
FEW = 500
SPEC = Path(__file__).parents[2] / "target" / "guest-processor.toml"
#: Not measured: those of specs/x86-64.toml. What is measured is the whole of a fault, so only its parts depend on them.
FAULT_NS, MAP_NS, COPY_NS = 560, 400, 400


class Prices(BaseModel):
    """Times of the guest's processor for a page, in ns: to look at it in reclaim, from the fault to the read request of swap, a block
    request, lz4 both ways."""

    scan_ns: float
    swap_in_ns: float
    block_request_ns: float
    compress_ns: float
    decompress_ns: float

    def spec(self, gips: float = 1.0) -> str:
        """The path of a file with them on a core of `gips` GIPS, a processor of `machine.devices`. All algorithms have lz4's price: no
        other is drawn."""
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


def measure_prices(kernel: str) -> Prices:
    """Four guests: one without pressure, and one for each kind of swap."""
    calm = run_guest(MICRO, kernel, MEMORY + 2 * FOOTPRINT * APPS)
    own = median(visit.process.cpu_ns for visit in calm.visits if visit.start == "resume")
    nvm, flash, zram = (_resumes(run_guest(MICRO, kernel, MEMORY, f"{swap}:{SWAP}")) for swap in ("nvm-copy", "flash", "zram"))
    # NVM's pages leave by one store each, so that what is looked at shows best there.
    scan = _scan_price(nvm)
    _, nvm_read, nvm_transfer, _, _ = device_service(NVM)
    swap_in = _into(nvm, own, scan) - FAULT_NS - COPY_NS - nvm_read - nvm_transfer
    return Prices(
        scan_ns=scan,
        swap_in_ns=swap_in,
        block_request_ns=_into(flash, own, scan) - FAULT_NS - swap_in,
        decompress_ns=_into(zram, own, scan) - FAULT_NS - swap_in,
        compress_ns=_out(zram, scan),
    )


def _resumes(outcome: Outcome) -> list[Visit]:
    visits = [visit for visit in outcome.visits if visit.start == "resume" and visit.kernel.get("pgsteal_kswapd", 0) > FEW]
    assert visits, "the microbenchmark swapped nothing in"
    return visits


def _looked_at(visit: Visit) -> int:
    """Pages that kswapd looked at, active ones included. Who looked at these is not counted; mostly it is kswapd."""
    return visit.kernel["pgscan_kswapd"] + visit.kernel.get("pgrefill", 0)


def _scan_price(visits: list[Visit]) -> float:
    """Of kswapd's time, the part that goes with pages looked at, not with pages freed: least squares of both, through zero."""
    rows = [(visit.kernel["pgsteal_kswapd"], _looked_at(visit), visit.kswapd_ns) for visit in visits]
    freed2, both, looked2 = (sum(x * y for x, y in pairs) for pairs in zip(*(((f, f), (f, s), (s, s)) for f, s, _ in rows), strict=True))
    freed_ns, looked_ns = sum(f * ns for f, _, ns in rows), sum(s * ns for _, s, ns in rows)
    return float((freed2 * looked_ns - both * freed_ns) / (freed2 * looked2 - both * both))


def _out(visits: list[Visit], scan_ns: float) -> float:
    """kswapd's time of a page swapped out, without that of looking at pages."""
    return sum(visit.kswapd_ns - scan_ns * _looked_at(visit) for visit in visits) / sum(visit.kernel["pgsteal_kswapd"] for visit in visits)


def _into(visits: list[Visit], own_ns: float, scan_ns: float) -> float:
    """An app's time of a page swapped in: all of its own, without its work and without what it freed itself, at kswapd's price."""
    out = _out(visits, scan_ns)
    direct = sum(out * visit.kernel.get("pgsteal_direct", 0) + scan_ns * visit.kernel.get("pgscan_direct", 0) for visit in visits)
    return (sum(visit.process.cpu_ns - own_ns for visit in visits) - direct) / sum(visit.kernel["pswpin"] for visit in visits)
