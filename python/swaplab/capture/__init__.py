"""Capture of page traces of real programs: the choice of the tool, and the run. The recording is
`swaplab._core.Capture`.
"""
