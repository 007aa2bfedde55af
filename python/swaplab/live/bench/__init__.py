"""SwapBench on real programs: what an app is (`app`), the experiment (`experiment`), schemes, the killer, the protocol, the statistics."""
