"""Runs of many points of an experiment, on this machine's cores or on a Dask cluster, that can be
stopped and resumed.
"""
