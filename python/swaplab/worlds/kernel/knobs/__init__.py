"""What a run changes on the machine, each a context manager over `Machine.step`: `swap` (areas, settings), `cgroup`, `throttle` (I/O)."""
