"""`swaplab report`: the offline page of finished runs."""

from __future__ import annotations

from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("report", report)
    text = "Run folders, or JSON documents that a command printed with --json."
    command.add_argument("runs", metavar="RUN..", nargs="+", type=Path, help=text)
    command.add_argument("--html", type=Path, help="Where to write the page; by default report.html in the first run's folder.")
    command.add_argument("--static", action="store_true", help="Also write every figure as SVG and PNG beside the page.")
    text = "Write a run of sim or bench as .pftrace in place of the page."
    command.add_argument("--perfetto", type=Path, metavar="FILE", help=text)
    o.add_json(command)


def report(runs: list[Path], html: Path | None, static: bool, perfetto: Path | None, as_json: bool) -> None:
    """Write one offline HTML page for one or more runs; prints its path."""
    if perfetto is not None:
        from swaplab import BadInput
        from swaplab.report.perfetto import write_perfetto

        if len(runs) != 1:
            raise BadInput(f"--perfetto: {len(runs)} runs; expected one")
        written = write_perfetto(runs[0], perfetto)
        return o.say(as_json, str(perfetto), perfetto=str(perfetto), tracks=written)
    from swaplab.run_folder import made_with, read_manifest, read_run, reading, replace, run_name, title

    documents = [(run_name(run), read_run(run)) for run in runs]
    # Drawing brings altair along; what is no run is refused before that.
    from swaplab.report import page
    from swaplab.report.export import write_static

    target = html or (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
    with reading(str(runs[0])):
        heading = title(documents[0][1], documents[0][0]) if len(documents) == 1 else ", ".join(name for name, _ in documents)
    about = read_manifest(runs[0]) if len(runs) == 1 else None
    replace(target, page(heading, documents, made_with(about) if about else "").encode())
    figures = [str(path) for path in write_static(documents, target.parent)] if static else []
    o.say(as_json, "\n".join([str(target), *figures]), report=str(target), figures=figures)
