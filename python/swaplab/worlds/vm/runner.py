"""Runs of the world `vm`: each design and seed in a separate guest, several guests at a time."""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from swaplab._core import device_service
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.experiment import seeds
from swaplab.core.files import content_hash
from swaplab.core.model import Experiment, Row, VmRun
from swaplab.worlds.kernel.configuration import Configuration, configurations
from swaplab.worlds.procfs import meminfo
from swaplab.worlds.result import NO_CHANGE, Options, WorldResult, files_by_run
from swaplab.worlds.vm import driver, guest, kernels, machine, plan, reads, rows, samples, tools
from swaplab.worlds.vm.areas import area_of
from swaplab.worlds.vm.guest import Outcome
from swaplab.worlds.vm.kernels import Kernel
from swaplab.worlds.vm.rows import Runs
from swaplab.worlds.vm.tables import tables

KEY = "vm"
#: The guests of a point run concurrently under this process, which ends all of them when it is
#: stopped.
PARALLEL = False
#: Memory of QEMU in addition to that of its guest.
QEMU_BYTES = 256 << 20
#: Interval of progress reports, in seconds.
TELL_S = 0.2


def batches(points: list[Experiment]) -> list[list[int]]:
    """Put each point in a separate batch, so that a stopped run loses at most one."""
    return [[index] for index in range(len(points))]


def run(points: list[Experiment], options: Options) -> WorldResult:
    """Run every design at every point. Equal experiments and versions give equal rows for any
    number of concurrent guests.
    """
    todo = configurations(points)
    jobs = check(todo, options.jobs)
    if options.dry_run:
        options.say(f"world vm: {NO_CHANGE}")
        return WorldResult([])
    kernels_by_name = {of.experiment.run.vm.kernel: _kernel(of.experiment.run.vm, options) for of in todo}
    for of in todo:
        check_direct_read(of, kernels_by_name[of.experiment.run.vm.kernel])
    done = run_all(todo, kernels_by_name, jobs, options)
    measured = [rows.row(runs) for runs in done]
    result = WorldResult(measured, warnings=_warnings(todo) + noise_warnings(measured))
    result.versions = {
        key: text for of in todo for key, text in versions(of.experiment.run.vm, kernels_by_name[of.experiment.run.vm.kernel]).items()
    }
    if options.tables:
        result.tables = tables(done)
        result.files = files_by_run("ftrace", [(runs.of.design.name, [outcome.text for outcome in runs.outcomes]) for runs in done])
        result.files |= files_by_run("samples", [(runs.of.design.name, _recordings(runs)) for runs in done])
    return result


def _recordings(runs: Runs) -> list[str]:
    """Return the memory samples of each run; empty texts if none were requested."""
    vm, table = runs.of.experiment.run.vm, runs.of.table
    foreground_ns = plan.guest_ns(vm, "workload.launches.foreground", table.foreground)
    return [samples.recording(outcome, foreground_ns, vm.gips) for outcome in runs.outcomes]


def check(todo: list[Configuration], jobs: int) -> int:
    """Raise BadInput or NotSupported for what no guest can run, before any download or start.
    Returns the maximum number of guests.
    """
    guest.program()
    machine.still_clock()
    largest = 0
    for of in todo:
        devices = of.experiment.machine.devices
        for device in (devices.flash, devices.nvm):
            device_service(device)
        total = guest.layout(of).reserved.total
        largest = max(largest, total + QEMU_BYTES)
        if of.experiment.run.vm.block_devices == "driver":
            driver.required_parts()
        elif area_of(of).direct:
            raise BadInput(f"{of.place}: {of.swap.key}: null_blk cannot be mapped; expected run.vm.block_devices = 'driver'")
    available = meminfo().get("MemAvailable", 0)
    if largest > available:
        raise NotSupported(f"the world vm needs memory: {largest} bytes for a guest with its devices and QEMU, of {available} available")
    return max(1, min(jobs or os.cpu_count() or 1, available // largest if largest else 1))


def check_direct_read(of: Configuration, kernel: Kernel) -> None:
    """Raise NotSupported for a design with Direct Read on a kernel that would copy its pages."""
    if area_of(of).direct and not kernel.has("SWAP_DIRECT"):
        raise NotSupported(
            f"{of.place}: {of.swap.key} needs a kernel with Direct Read; run.vm.kernel = '{kernel.name}' has none; "
            "expected one that 'swaplab kernel build' made with a --patch for each file of kernel/patches/6.12"
        )


def _kernel(vm: VmRun, options: Options) -> Kernel:
    """Return the kernel. It, the driver and the tools are downloaded and built if they are not in
    the cache.
    """
    if vm.kernel in kernels.SERIES and not kernels.is_downloaded(vm.kernel):
        options.say(f"kernel {vm.kernel}: downloading the distribution's packages")
    kernel = kernels.resolve(vm.kernel)
    if vm.block_devices == "driver":
        driver.module(kernel)
    tools.find(tools.QEMU, tools.MKE2FS)
    if vm.count_reads:
        reads.plugin()
    return kernel


def run_all(todo: list[Configuration], kernels_by_name: dict[str, Kernel], jobs: int, options: Options) -> list[Runs]:
    """Run every configuration under each of its seeds. The first failure ends the guests that still
    run.
    """
    stop = threading.Event()
    visits: dict[tuple[int, int], int] = {}

    def run_guest(number: int, seed: int) -> Outcome:
        of = todo[number]

        def count(done: int) -> None:
            visits[number, seed] = done

        return guest.run(of, seed, kernels_by_name[of.experiment.run.vm.kernel], count, stop.is_set)

    with ThreadPoolExecutor(jobs) as pool:
        futures: list[list[Future[Outcome]]] = []
        total = 0
        for number, of in enumerate(todo):
            first, runs = of.experiment.run.seed, seeds(of.experiment, KEY)
            total += runs * len(of.order) * (of.table.warm_up + of.table.rounds)
            futures.append([pool.submit(run_guest, number, seed) for seed in range(first, first + runs)])
        all_futures = [future for row in futures for future in row]
        try:
            while wait(all_futures, TELL_S, return_when=FIRST_EXCEPTION).not_done and not any(_error(future) for future in all_futures):
                if options.listener:
                    options.listener(sum(visits.copy().values()), total)
            # Raise the error of the first failed design in order, independent of which guest failed
            # first.
            if error := next((error for future in all_futures if (error := _error(future))), None):
                raise error
            return [Runs(of, [future.result() for future in row]) for of, row in zip(todo, futures, strict=True)]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def _error(future: Future[Outcome]) -> BaseException | None:
    return future.exception() if future.done() and not future.cancelled() else None


def versions(vm: VmRun, kernel: Kernel) -> dict[str, str]:
    """Return all versions that a run's bytes depend on in addition to the experiment, by names that
    begin with `vm KERNEL: `.
    """
    qemu = tools.find(tools.QEMU, tools.MKE2FS)
    parts = {
        "qemu": qemu.version(tools.QEMU),
        "mke2fs": qemu.version(tools.MKE2FS, "-V"),
        "cpu": machine.CPU,
        "release": kernel.release,
        "image sha256": kernel.sha256,
        "block devices": content_hash(driver.module(kernel)) if vm.block_devices == "driver" else "null_blk",
        "guest program sha256": content_hash(guest.program()),
        **({"plugin sha256": content_hash(reads.plugin())} if vm.count_reads else {}),
        **{f"package {package.name}": f"{package.version} sha256 {package.sha256}" for package in kernel.packages},
    }
    return {f"vm {kernel.name}: {name}": text for name, text in parts.items()}


def noise_warnings(measured: list[Row]) -> list[str]:
    """Warn of the A-against-A noise: the interval of each design's mean delay over perturbed think
    times. Empty for one seed.
    """
    delays = [(row.design, row.launches.delay_ms) for row in measured if row.launches is not None and row.launches.delay_ms is not None]
    spreads = [
        f"{design} +-{100 * (delay.mean_interval[1] - delay.mean) / delay.mean:.0f} %"
        for design, delay in delays
        if delay.mean_interval is not None and delay.mean > 0
    ]
    if not spreads:
        return []
    text = ", ".join(spreads)
    return [
        f"vm: A against A: if only think times differ, the mean delay's 95 % interval is {text}; smaller differences are not significant."
    ]


def _warnings(todo: list[Configuration]) -> list[str]:
    """Return the caveats that a reader must know before using the figures."""
    vms = [of.experiment.run.vm for of in todo]
    warnings = ["vm: virtual time counts instructions: there are no caches, no memory latency and no parallel kswapd in it."]
    if any(vm.cpus > 1 for vm in vms):
        warnings.append("vm: virtual time is the sum over processors: more of them do not make runs faster.")
    if limited := next((of for of in todo if plan.memory(of)[1] is not None), None):
        warnings.append(
            f"vm: machine.dram = {limited.experiment.machine.dram} limits a control group of the apps in a larger guest, as in the world "
            "kernel: its reclaim has no watermarks and no kswapd, and zram's pool is not part of it."
        )
    if any(seeds(of.experiment, KEY) == 1 for of in todo):
        warnings.append("vm: one perturbation: a launch's delay changes by up to a third with microseconds of think time.")
    if any(vm.cpus > 1 or vm.block_devices == "null-blk" for vm in vms):
        warnings.append(
            "vm: the guest's processors halt when idle: on an overloaded host, QEMU may shift their clock by microseconds from run to run."
        )
    if any(vm.block_devices == "null-blk" for vm in vms):
        warnings.append("vm: block devices are null_blk: each request takes a fixed time, and NVM takes no time except its instructions.")
    warnings += [
        f"vm: times are divided and device prices multiplied by {gips:g}, for a core of that many GIPS."
        for gips in sorted({vm.gips for vm in vms} - {1.0})
    ]
    return warnings
