"""Page that goes through a finished run's decisions one by one: clock, queue, nodes and the reason.

A page holds plain HTML and SVG, the data as JSON, and ``stepping.js``, which shows them. It needs nothing else and works
offline. A *frame* is the cluster as it was before a decision, and that decision; the last frame is the end of the run.
A page has at most 300 frames; longer runs have several pages with links to each other.
"""

from __future__ import annotations

import math
from pathlib import Path
from urllib.parse import quote

from jinja2.utils import htmlsafe_json_dumps

from analysis.figures.palette import ColourClasses, ColourStrategy, colour_strategy
from analysis.gantt_chart.layout import run_title
from analysis.pages.page import make_folder, render
from analysis.stepping.frames import Frames
from analysis.tables.wording import listing
from cluster_sim.errors import InputError, counted
from cluster_sim.files.atomic import atomic_files
from cluster_sim.records.result import Result

MOST_FRAMES = 300
"""Number of frames of one page, which must open at once; few readers would look at more."""
MOST_PAGES = 100


def animation(
    result: Result,
    x_range: tuple[float, float] | None = None,
    colour_by: str | ColourStrategy = "auto",
    title: str | None = None,
) -> str:
    """Return the text of an HTML page that steps through a run, forwards and backwards.

    If the run was to ``explain``, the reasons are the scheduler's own. Otherwise the steps are starts and refusals,
    with reasons from the records.

    Args:
        result: a finished run.
        x_range: window of time in s, for a part of the run; the page says how many steps lie outside.
        colour_by: as in :func:`analysis.gantt`.
        title: heading; made from the run's settings when None.

    Raises InputError for more than 300 steps (:func:`write_animation` makes several pages of them), and for a window
    without a step.
    """
    pages = _Pages(result, x_range, colour_by, title)
    if len(pages) > 1:
        wanted = f"at most {MOST_FRAMES} steps in a page: a window (x_range), or write_animation for several pages"
        raise InputError("animation", wanted, f"{pages.frames:,}")
    return pages.text([""], 0)


def write_animation(
    result: Result,
    path: str | Path,
    x_range: tuple[float, float] | None = None,
    colour_by: str | ColourStrategy = "auto",
    title: str | None = None,
) -> list[Path]:
    """Write :func:`animation` to a file and return its path, or the paths of all pages of a long run.

    Each page has 300 steps; beside ``steps.html`` come ``steps-2.html`` and so on. Raises InputError for more than 100
    pages, and when a file cannot be written.
    """
    pages = _Pages(result, x_range, colour_by, title)
    if len(pages) > MOST_PAGES:
        wanted = f"at most {MOST_FRAMES * MOST_PAGES:,} steps: a window of the run"
        raise InputError("animation", wanted, f"{pages.frames:,}")
    first = Path(path)
    paths = [first, *(first.with_name(f"{first.stem}-{i}{first.suffix}") for i in range(2, len(pages) + 1))]
    addresses = [quote(each.name) for each in paths]
    make_folder(first.parent)
    with atomic_files(first) as aside:  # the first page comes last, with the pages that it links to
        for place, page in enumerate(paths):
            aside(page).write_text(pages.text(addresses, place), encoding="utf-8")
    return paths


class _Pages:
    """Pages of a window of a run, numbered from 0; ``title`` is their heading, the run's title when None."""

    def __init__(
        self,
        result: Result,
        x_range: tuple[float, float] | None,
        colour_by: str | ColourStrategy,
        title: str | None,
    ):
        self._result = result
        self._frames = Frames(result)
        self._begin, self._stop = self._frames.window(x_range)
        self._classes: ColourClasses = colour_strategy(colour_by)(result.jobs)
        self._title = run_title(result) if title is None else title
        self.frames = self._stop - self._begin

    def __len__(self) -> int:
        return math.ceil(self.frames / MOST_FRAMES)

    def text(self, addresses: list[str], place: int) -> str:
        """Return the text of one page; ``addresses`` are of all pages, relative to each other."""
        low = self._begin + place * MOST_FRAMES
        high = min(low + MOST_FRAMES, self._stop)
        firsts = [self._begin + i * MOST_FRAMES for i in range(len(addresses))]
        data = self._frames.data(low, high, self._classes) | {
            "begin": self._begin,
            "stop": self._stop,
            "pages": [list(pair) for pair in zip(addresses, firsts, strict=True)],
        }
        platform = self._result.platform
        lead = (
            f"{counted(len(self._result.jobs), 'job')} on {counted(platform.node_count, 'node')}, "
            f"{counted(platform.core_count, 'core')}. Each step is a decision of the scheduler: the page shows what it "
            "had before it, and what it made of that."
        )
        notes = []
        if not self._frames.logged:
            notes.append(
                "This run kept no log of decisions (run --explain): its steps are its starts and refusals, and what is "
                "said of them is read off the records. They do not say why a job that would have fitted was kept back."
            )
        before, after = self._begin, len(self._frames) - self._stop
        if before or after:
            sides = [(before, "before"), (after, "after")]
            outside = listing([f"{counted(steps, 'step')} {side}" for steps, side in sides if steps])
            notes.append(
                f"A window of the run: steps {self._begin + 1:,} to {self._stop:,} of {len(self._frames):,}. "
                f"Not in {'it' if len(self) == 1 else 'these pages'}: {outside}."
            )
        return render(
            "stepping.html",
            heading=self._title,
            lead=lead,
            notes=notes,
            pages=[
                (address, f"{begin + 1:,}–{min(begin + MOST_FRAMES, self._stop):,}")
                for address, begin in zip(addresses, firsts, strict=True)
            ],
            place=place,
            data=htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":")),
        )
