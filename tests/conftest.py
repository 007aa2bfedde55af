"""A shell that starts the tests in the background has interrupts ignored, and every program that a test starts would inherit that:
Ctrl-C could not be tested."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
