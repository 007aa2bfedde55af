"""A page trace in Python."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import BadInput, _core
from swaplab.model.address import local_trace

if TYPE_CHECKING:
    import polars as pl

    from swaplab.result import Result


class Trace:
    """A trace on disk: `Trace.open("app.slt")`, or any file `swaplab trace import` takes. The GIL is released while the core reads it."""

    def __init__(self, path: str, options: dict[str, Any], info: dict[str, Any]) -> None:
        self.path, self._options, self.info = path, options, info

    @classmethod
    def open(cls, path: str | os.PathLike[str], format: str | None = None, pages: str | os.PathLike[str] | None = None) -> Trace:
        """Open a path or an address (`s3://`, `http://`); a file that is no `.slt` is imported for this process. Raises `BadInput`."""
        given = {"format": format, "pages": os.fspath(pages) if pages is not None else None}
        options = {key: value for key, value in given.items() if value is not None}
        info = json.loads(_core.trace_info(*local_trace(os.fspath(path), json.dumps(options))))
        return cls(os.fspath(path), options, info)

    @classmethod
    def bundled(cls, name: str) -> Trace:
        """A trace of a real program that comes with swaplab: `node`, `djpeg`, `chromium` (data/PROVENANCE.md)."""
        found = {path.stem: path for path in sorted((Path(__file__).parent / "data").glob("*.slt"))}
        if name not in found:
            raise BadInput(f"'{name}': no bundled trace; expected one of: {' '.join(found)}")
        return cls.open(found[name])

    @property
    def footprint_pages(self) -> int:
        """Distinct pages referenced."""
        return int(self.info["footprint_pages"])

    def mrc(self, sample: float = 1.0, mapping: str = "follow") -> pl.DataFrame:
        """LRU's miss ratio at every size from 1 page to the footprint: `memory_pages`, `miss_ratio`, `filter_limited`.

        Exact by reuse distances; `sample` below 1 looks at that share of the pages (SHARDS, FAST '15).
        """
        import polars as pl

        curve = json.loads(_core.mrc(*local_trace(self.path, json.dumps(self._options)), mapping, sample))
        misses = pl.Series(curve["misses"][1:], dtype=pl.Float64)
        pages = pl.int_range(1, len(misses) + 1, eager=True)
        limit = int(self.info["valid_from_frames"])
        return pl.DataFrame({"memory_pages": pages, "miss_ratio": misses / curve["references"], "filter_limited": pages < limit})

    def replay(
        self, policy: str | type | list[str | type], memory: str | list[str], jobs: int = 0, seed: int = 0, **options: str
    ) -> Result:
        """Replay under policies at memory sizes; `options` are keys of `[replay]`, such as `swap_device="ufs-3.1"`.

        A policy is a key, one in a file (`./mine.py:Mine`, `./libmine.so:mine`), or a class as `swaplab.policy.Policy` says.
        """
        from swaplab.experiment import Experiment
        from swaplab.policy import key_of

        keys = [key_of(one) for one in (policy if isinstance(policy, list) else [policy])]
        table = {"trace": self.path, "policy": keys, "memory": memory, **self._options, **options}
        return Experiment(replay=table, seed=seed).run(jobs)

    def __repr__(self) -> str:
        references, pages, size = (self.info[key] for key in ("references", "footprint_pages", "page_size"))
        return f"Trace({Path(self.path).name}: {references:,} references, {pages:,} pages of {size} bytes)"

    def _repr_html_(self) -> str:
        shown = ("name", "references", "raw_references", "footprint_pages", "anon_pages", "file_pages", "page_size", "content_hash")
        rows = "".join(f"<tr><th>{key}</th><td>{escape(str(self.info[key]))}</td></tr>" for key in shown if self.info.get(key) is not None)
        return f"<table>{rows}</table>"
