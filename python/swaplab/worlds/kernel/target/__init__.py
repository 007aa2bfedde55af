"""Where the world `kernel` measures: this machine (`local`), another machine (`ssh`), a phone (`adb`)."""
