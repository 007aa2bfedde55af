"""The world `vm`: any Linux kernel in QEMU, with a clock that counts instructions, so that a run gives the same bytes on any host."""
