"""An experiment in the world `vm`: every design under every seed, several guests at a time, one result."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from swaplab import __version__
from swaplab.worlds.vm import cache, driver, guest, kernels, plan, summary, tools
from swaplab.worlds.vm.guest import Outcome
from swaplab.worlds.vm.kernels import Kernel
from swaplab.worlds.vm.machine import CPU
from swaplab.worlds.vm.request import Request, Result

#: Hears what is being done: a line of text.
Said = Callable[[str], None]


def run(request: Request, jobs: int | None = None, say: Said = lambda line: None) -> Result:
    """Run a request. Equal requests give equal results at any number of `jobs` (by default the host's processors)."""
    check(request)
    say(f"kernel {request.vm.kernel}")
    kernel = kernels.resolve(request.vm.kernel)
    outcomes = run_all(request, kernel, jobs, say)
    return result(request, kernel, outcomes)


def check(request: Request) -> None:
    """Refuse what no guest can run, before anything is downloaded or started."""
    plan.check_order(request)
    guest.program()
    for design in request.design:
        guest.layout(request, design)
        plan.killer(design, request.vm.gips)
        plan.steering(design)


def run_all(request: Request, kernel: Kernel, jobs: int | None, say: Said) -> list[list[Outcome]]:
    """Outcomes by design and seed. The first failure ends the guests that still run."""
    stop = threading.Event()
    if request.vm.block_devices == "driver":
        driver.module(kernel)
    tools.find(tools.QEMU, tools.MKE2FS)
    done = 0

    def one(number: int, seed: int) -> Outcome:
        nonlocal done
        design = request.design[number]
        name = f"{design.name}, seed {seed}"
        outcome = guest.run(request, design, seed, kernel, lambda at, of: say(f"{name}: visit {at} of {of}"), stop.is_set)
        done += 1
        say(f"{name}: done, {done} of {len(request.design) * request.seeds}")
        return outcome

    seeds = range(request.seed, request.seed + request.seeds)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        futures: list[list[Future[Outcome]]] = [[pool.submit(one, number, seed) for seed in seeds] for number in range(len(request.design))]
        every = [future for row in futures for future in row]
        try:
            wait(every, return_when=FIRST_EXCEPTION)
            # The error of the first design in order that has one, whichever guest was faster.
            for future in every:
                if future.done() and not future.cancelled() and (error := future.exception()):
                    raise error
            return [[future.result() for future in row] for row in futures]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def versions(request: Request, kernel: Kernel) -> dict[str, str]:
    """All that a run's bytes depend on besides the request."""
    found = tools.find(tools.QEMU, tools.MKE2FS)
    parts = {f"package {package.name}": f"{package.version} sha256 {package.sha256}" for package in kernel.packages}
    return {
        "swaplab": __version__,
        "qemu": found.version(tools.QEMU),
        "mke2fs": found.version(tools.MKE2FS, "-V"),
        "cpu": CPU,
        "kernel": kernel.release,
        "kernel image sha256": kernel.sha256,
        "block devices": cache.sha256(driver.module(kernel)) if request.vm.block_devices == "driver" else "null_blk",
        "guest program sha256": cache.sha256(guest.program()),
        **parts,
    }


def result(request: Request, kernel: Kernel, outcomes: list[list[Outcome]]) -> Result:
    """The result of a request's outcomes."""
    rows = [summary.row(request, design, runs) for design, runs in zip(request.design, outcomes, strict=True)]
    pairs = [
        (design, request.seed + number, outcome)
        for design, runs in zip(request.design, outcomes, strict=True)
        for number, outcome in enumerate(runs)
    ]
    gips = request.vm.gips
    return Result(
        name=request.name,
        request=request,
        versions=versions(request, kernel),
        warnings=warnings(request),
        rows=rows,
        launches=[summary.launch_row(design, seed, visit, gips) for design, seed, outcome in pairs for visit in outcome.visits],
        kills=[summary.kill_row(design, seed, kill, gips) for design, seed, outcome in pairs for kill in outcome.kills],
    )


def warnings(request: Request) -> list[str]:
    """What a reader must know before using the figures."""
    found = ["Virtual time counts instructions: there are no caches, no memory latency and no parallel kswapd in it."]
    if request.vm.cpus > 1:
        found.append("Virtual time is the sum over processors: more of them make nothing faster.")
    if request.seeds == 1:
        found.append("One perturbation: a launch's delay moves by up to a third with microseconds of think time.")
    if request.vm.block_devices == "null-blk" or request.vm.cpus > 1:
        found.append(
            "The guest's processors halt when idle: on an overloaded host, QEMU may shift their clock by microseconds from run to run."
        )
    if request.vm.block_devices == "null-blk":
        found.append("Block devices are null_blk: each request takes one fixed time, and NVM takes none beside its instructions.")
    if request.vm.gips != 1:
        found.append(f"Times are divided and device prices multiplied by {request.vm.gips:g}, for a core of that many GIPS.")
    return found
