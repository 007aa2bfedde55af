"""Sweeps: many points of one experiment, on this machine's cores or on a Dask cluster, into one parquet file."""
