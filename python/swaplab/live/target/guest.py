"""What runs inside a guest: one experiment on its kernel, the document on standard output."""

from __future__ import annotations

import json
import sys

from swaplab.live.bench import process, runner, spec
from swaplab.live.capabilities import syscall


def load_module(path: str) -> None:
    """Load a kernel module; guests often have no insmod."""
    with open(path, "rb") as file:
        result, why = syscall("finit_module", file.fileno(), b"", 0)
        if result != 0:
            print(f"{path}: {why}", file=sys.stderr)


def main(experiment: str, user: str, *modules: str) -> None:
    """Run the experiment file (JSON, as a host wrote it) as that user's apps, on a kernel with these modules."""
    for module in modules:
        load_module(module)
    wanted = spec.load_experiment(experiment)
    apps = spec.load_apps(spec.table(wanted), experiment)
    document = runner.run(wanted, apps, process.User.named(user, False), experiment, False, lambda line: None, lambda line: None)
    print(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
