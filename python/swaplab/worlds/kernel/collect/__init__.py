"""What the kernel counts: totals read before and after (`counters`), and events in their order (`events`)."""
