"""Many points of one experiment: on this machine's cores or on a Dask cluster, stopped and gone on with."""
