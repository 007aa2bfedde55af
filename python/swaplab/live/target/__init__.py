"""Where an experiment runs: this machine (`local`), a user-mode Linux of its own (`uml`), another machine (`ssh`), a phone (`adb`)."""
