"""Run an experiment in the world `kernel` in this process, like the command `swaplab run`.

Writes the document to standard output; an error is one line and the command's exit code. Arguments:
the experiment file and `KEY=VALUE` changes; `--dry-run`; `--as-root`; `--files DIR` for the
kernel's events.
"""

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
arguments = parser.parse_args()
try:
    wanted = experiment.read(arguments.file, arguments.set)
    options = Options(dry_run=arguments.dry_run, as_root=arguments.as_root, say=print if arguments.dry_run else lambda line: None)
    if arguments.dry_run or arguments.files:
        experiment.refuse(wanted, arguments.file)
        result = kernel.run([wanted], options)
        for name, text in result.files.items():
            (arguments.files / name).write_text(text)
        print("\n".join(row.model_dump_json() for row in result.rows))
    else:
        print(document.dumped(run(wanted, options, place=arguments.file).document))
except KeyboardInterrupt:
    sys.exit(130)
except (BadInput, NotSupported, Failed) as error:
    print(f"swaplab: {error}", file=sys.stderr)
    sys.exit(2 if isinstance(error, BadInput) else 3 if isinstance(error, NotSupported) else 1)
