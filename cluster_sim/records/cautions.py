"""Cautions for readers of a result, in sentences of three kinds."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cluster_sim.errors import few
from cluster_sim.records.assumptions import kind_of

if TYPE_CHECKING:
    import pandas as pd

TITLES = {
    "assumed": "Assumed, because the input does not say",
    "left_out": "Left out",
    "happened": "Happened in the run",
}
"""Titles of the kinds, for people."""
_LEFT_OUT = ("rejected",)
_NAMED = 3


@dataclass(frozen=True)
class Cautions:
    """The cautions of a result, a sentence each.

    Attributes
    ----------
    assumed : what stands in for what the inputs do not say, such as requested times or watts.
    left_out : what of the inputs is not in the result, such as rejected jobs or rows that cannot be read.
    happened : what ended otherwise than its user wanted, such as jobs that were killed at their time limit.
    """

    assumed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    happened: tuple[str, ...] = ()

    @classmethod
    def of_lines(cls, lines: Iterable[str], jobs: pd.DataFrame | None = None) -> Cautions:
        """Sort the lines of :mod:`cluster_sim.records.assumptions` by kind, and add what a table of jobs tells."""
        lines, happened = list(lines), []
        if jobs is not None:
            for state in ("killed", "unfinished"):
                ids = jobs["job_id"][jobs["state"] == state]
                if len(ids):
                    happened.append(f"{state}: {len(ids):,} of {len(jobs):,} jobs ({few(ids, _NAMED)})")
        return cls(
            tuple(line for line in lines if kind_of(line) not in _LEFT_OUT),
            tuple(line for line in lines if kind_of(line) in _LEFT_OUT),
            tuple(happened),
        )

    @classmethod
    def of_runs(cls, runs: Mapping[str, Cautions]) -> Cautions:
        """Return the cautions of several runs by name; a line that is not about all of them names its runs."""
        kinds: list[tuple[str, ...]] = []
        for kind in TITLES:
            about: dict[str, list[str]] = {}
            for name, cautions in runs.items():
                for line in getattr(cautions, kind):
                    about.setdefault(line, []).append(name)
            kinds.append(
                tuple(
                    line if len(names) == len(runs) else f"{', '.join(names)}: {line}" for line, names in about.items()
                )
            )
        return cls(*kinds)

    def leaving_out(self, lines: Iterable[str]) -> Cautions:
        """Return these cautions with further lines of what was left out, each once."""
        return replace(self, left_out=tuple(dict.fromkeys([*lines, *self.left_out])))

    def by_kind(self) -> dict[str, tuple[str, ...]]:
        """Return the title and sentences of every kind that has some."""
        return {title: lines for kind, title in TITLES.items() if (lines := getattr(self, kind))}

    def __iter__(self) -> Iterator[str]:
        return iter((*self.assumed, *self.left_out, *self.happened))

    def __len__(self) -> int:
        return len(self.assumed) + len(self.left_out) + len(self.happened)

    def __str__(self) -> str:
        parts = ("\n  ".join([f"{title}:", *lines]) for title, lines in self.by_kind().items())
        return "\n".join(parts) or "No cautions"

    def _repr_html_(self) -> str:
        items = "".join(
            f"<dt>{title}</dt>" + "".join(f"<dd>{html.escape(line)}</dd>" for line in lines)
            for title, lines in self.by_kind().items()
        )
        return f"<dl>{items}</dl>" if items else "<p>No cautions</p>"
