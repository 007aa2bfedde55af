"""Changes to the machine, as context managers over `Machine.step`: `swap` (areas, settings),
`cgroup`, `throttle` (I/O).
"""
