"""Traces of real programs: which tool watches the program, and the run itself. The recording is `swaplab._core.Capture`."""
