"""Which runner runs the points of an experiment."""

from __future__ import annotations

import os

from swaplab.worlds.sweep.cluster import dask_cluster
from swaplab.worlds.sweep.pool import process_pool
from swaplab.worlds.sweep.runner import Runner


def runner_for(points: int, jobs: int, cluster: str = "") -> Runner | None:
    """The Dask scheduler at `cluster`, or `jobs` processes (0: one per core) for several points;
    None to run in this process.
    """
    if cluster:
        return dask_cluster(cluster)
    jobs = jobs or os.cpu_count() or 1
    return process_pool(jobs) if points > 1 and jobs > 1 else None
