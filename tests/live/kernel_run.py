"""Run an experiment in the world `kernel` in this process, as the command does: the document on standard output, an error as one line and
its exit code. Arguments: the experiment file, then `KEY=VALUE` changes; `--dry-run`, `--as-root`, `--files DIR` for the kernel's events."""

import argparse
import sys
from pathlib import Path

from swaplab.core import document, experiment
from swaplab.core.errors import BadInput, Failed, NotSupported
from swaplab.worlds import kernel, run
from swaplab.worlds.result import Options

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("set", nargs="*")
parser.add_argument("--dry-run", action="store_true")
parser.add_argument("--as-root", action="store_true")
parser.add_argument("--files", type=Path)
given = parser.parse_args()
try:
    wanted = experiment.read(given.file, given.set)
    options = Options(dry_run=given.dry_run, as_root=given.as_root, say=print if given.dry_run else lambda line: None)
    if given.dry_run or given.files:
        experiment.refuse(wanted, given.file)
        result = kernel.run([wanted], options)
        for name, text in result.files.items():
            (given.files / name).write_text(text)
        print("\n".join(row.model_dump_json() for row in result.rows))
    else:
        print(document.dumped(run(wanted, options, place=given.file).document))
except KeyboardInterrupt:
    sys.exit(130)
except (BadInput, NotSupported, Failed) as error:
    print(f"swaplab: {error}", file=sys.stderr)
    sys.exit(2 if isinstance(error, BadInput) else 3 if isinstance(error, NotSupported) else 1)
