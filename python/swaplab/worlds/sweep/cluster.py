"""Batches of points on a Dask cluster. A worker that is lost costs only time: its batches go to the others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from swaplab.core.errors import BadInput, NotSupported
from swaplab.worlds.result import Options, WorldResult
from swaplab.worlds.sweep.runner import Batch, Runner, work_alone

#: How often Dask starts a batch anew when the worker that runs it dies.
ALLOWED_FAILURES = 10
#: Batches on their way at least: workers may join later.
FEWEST = 8


def dask_cluster(address: str) -> Runner:
    """A runner on the scheduler at `address` (`tcp://HOST:PORT`)."""
    try:
        from distributed import Client, Future, as_completed  # an optional extra
    except ModuleNotFoundError:
        raise NotSupported("--cluster tcp://..: Dask is missing; install it with `pip install 'swaplab[cluster]'`") from None
    if "://" not in address:  # Dask would look for a local cluster of that name, and take its time
        raise BadInput(f"--cluster {address}: no address; expected that of a Dask scheduler, tcp://HOST:PORT")

    def run(batches: list[Batch], _options: Options) -> Iterator[tuple[Batch, WorldResult]]:
        try:
            client = Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise BadInput(f"--cluster {address}: {error}; expected the address of a Dask scheduler, tcp://HOST:PORT") from None
        with client:
            client.run_on_scheduler(_allow_failures)
            # Results wait in workers' memory until they are fetched: only as many batches are on their way as keep all workers busy.
            todo = iter(batches)
            futures: dict[Future[WorldResult], Batch] = {}

            def submitted(count: int) -> list[Future[WorldResult]]:
                sent = [(client.submit(work_alone, batch, pure=False, retries=2), batch) for batch in islice(todo, count)]
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
    """Several workers may be lost while one batch runs; Dask's own limit of 3 is for tasks that kill their worker."""
    dask_scheduler.allowed_failures = ALLOWED_FAILURES  # type: ignore[attr-defined]
