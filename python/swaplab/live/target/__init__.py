"""Where an experiment runs: this machine's kernel (`local`, the runner itself) or a user-mode Linux of its own (`uml`)."""
