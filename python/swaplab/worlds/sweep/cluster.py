"""Batches of points on a Dask cluster. If a worker is lost, other workers run its batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from swaplab.core.errors import BadInput, NotSupported
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.sweep.runner import Batch, Runner, work_on_one_thread

#: How many times Dask restarts a batch whose worker dies.
ALLOWED_FAILURES = 10
#: Minimum number of submitted batches, as workers may join later.
FEWEST = 8


def dask_cluster(address: str) -> Runner:
    """Make a runner on the scheduler at `address` (`tcp://HOST:PORT`). Raises NotSupported without
    Dask, BadInput for a bad address.
    """
    try:
        from distributed import Client, Future, as_completed  # an optional extra
    except ModuleNotFoundError:
        raise NotSupported("--cluster tcp://..: Dask is missing; install it with `pip install 'swaplab[cluster]'`") from None
    if "://" not in address:  # Dask would search for a local cluster of that name, which takes long
        raise BadInput(f"--cluster {address}: no address; expected that of a Dask scheduler, tcp://HOST:PORT")

    def run(batches: list[Batch], _options: Options) -> Iterator[tuple[Batch, WorldResult]]:
        try:
            client = Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BadInput(f"--cluster {address}: {error}; expected the address of a Dask scheduler, tcp://HOST:PORT") from None
        with client:
            client.run_on_scheduler(_allow_failures)
            # Results stay in the workers' memory until they are fetched, so only enough batches are
            # submitted to keep all workers busy.
            todo = iter(batches)
            futures: dict[Future[WorldResult], Batch] = {}

            def submitted(count: int) -> list[Future[WorldResult]]:
                sent = [(client.submit(work_on_one_thread, batch, pure=False, retries=2), batch) for batch in islice(todo, count)]
                futures.update(sent)
                return [future for future, _ in sent]

            running = as_completed(submitted(max(FEWEST, 2 * sum(client.nthreads().values()))), loop=client.loop)
            for future in running:
                result: WorldResult = future.result()
                batch = futures.pop(future)
                future.release()
                running.update(submitted(1))
                yield batch, result

    return run


def _allow_failures(dask_scheduler: object) -> None:
    """Raise Dask's limit of 3, which is meant for tasks that kill their worker: several workers may
    be lost while one batch runs.
    """
    dask_scheduler.allowed_failures = ALLOWED_FAILURES  # type: ignore[attr-defined]
