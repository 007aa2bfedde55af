"""The kernel's counts: counters read before and after (`counters`), and events in order
(`events`).
"""
