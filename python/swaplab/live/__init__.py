"""The real kernel: what this machine can do, knobs that put back what they change, and the SwapBench protocol on real programs.

Everything that changes the machine is a step with its undoing written to a journal first (`journal.py`), so that Ctrl-C, an error
and even `kill -9` leave the machine as it was (`swaplab doctor --repair`).
"""
