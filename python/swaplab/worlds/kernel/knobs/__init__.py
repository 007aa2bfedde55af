"""What a run may turn, each a context manager over `Machine.step`: swap areas and settings (`swap`), memory control groups (`cgroup`)."""
