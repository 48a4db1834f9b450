"""A finished run as a page that goes through its scheduler's decisions one by one: clock, queue, nodes, the reason.

A page holds plain HTML and SVG, the data as JSON, and ``stepping.js``, which shows them. It needs nothing else and works
offline. A *frame* is what a page shows at once: the cluster as it was before a decision, and that decision; the last
frame is the end of the run. A page has at most 300; of longer runs there are several that lead to each other.
"""

from __future__ import annotations

import html
import json
import math
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.explore.steps import NEVER, Steps
from analysis.gantt_chart import run_title
from analysis.page import write_whole
from analysis.palette import ColourStrategy, colour_strategy, text_colour
from analysis.rectangles import SHOWN_STATES, RowScale, job_rectangles
from analysis.stepping_style import BODY, POLICY, STYLE
from analysis.wording import listing
from cluster_sim.errors import InputError
from cluster_sim.explanation import seconds
from cluster_sim.shortage import counted

if TYPE_CHECKING:
    from cluster_sim.records import Result

MOST_FRAMES = 300
"""Frames of one page: it must open at once, and nobody looks at more."""
MOST_PAGES = 100
NAMED = 3

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def animation(
    result: Result,
    x_range: tuple[float, float] | None = None,
    colour_by: str | ColourStrategy = "job",
    title: str | None = None,
) -> str:
    """The text of an HTML page that steps through a run, forwards and backwards.

    Reasons are the scheduler's own if the run was to ``explain``; else its steps are its starts and refusals, with
    what the records tell about them.

    Args:
        result: a finished run.
        x_range: window of time in s, for a part of the run; the page says how many steps lie outside.
        colour_by: as of :func:`analysis.gantt`.
        title: heading; made from the run's settings when None.

    Raises InputError for more than 300 steps, of which :func:`write_animation` makes several pages, and for a window
    without a step.
    """
    film = _Film(result, x_range, colour_by, title)
    if film.stop - film.begin > MOST_FRAMES:
        wanted = f"at most {MOST_FRAMES} steps in a page: a window (x_range), or write_animation for several pages"
        raise InputError("animation", wanted, f"{film.stop - film.begin:,}")
    return film.page([""], 0)


def write_animation(
    result: Result,
    path: str | Path,
    x_range: tuple[float, float] | None = None,
    colour_by: str | ColourStrategy = "job",
    title: str | None = None,
) -> list[Path]:
    """Write :func:`animation` to a file and return its path, or the paths of all pages of a long run.

    Of 300 steps each, ``steps.html`` is followed by ``steps-2.html`` and so on, beside it. Raises InputError for more
    than 100 pages, and when a file cannot be written.
    """
    film = _Film(result, x_range, colour_by, title)
    count = math.ceil((film.stop - film.begin) / MOST_FRAMES)
    if count > MOST_PAGES:
        wanted = f"at most {MOST_FRAMES * MOST_PAGES:,} steps: a window of the run"
        raise InputError("animation", wanted, f"{film.stop - film.begin:,}")
    first = Path(path)
    paths = [first, *(first.with_name(f"{first.stem}-{i}{first.suffix}") for i in range(2, count + 1))]
    addresses = [quote(each.name) for each in paths]
    # The first one last: when it is there, so is all that it leads to.
    for place in reversed(range(count)):
        write_whole(paths[place], film.page(addresses, place))
    return paths


class _Film:
    """All frames of a run, numbered from 0; ``begin`` to ``stop`` are those to be shown.

    Per row of the jobs table: a job is in the queue at the frames ``enters`` to ``leaves``, both included, and holds
    its cores at those between ``takes`` and ``gives``, both excluded. Frames that never come are NEVER.
    """

    def __init__(
        self,
        result: Result,
        x_range: tuple[float, float] | None,
        colour_by: str | ColourStrategy,
        title: str | None,
    ):
        self._result = result
        self._jobs = result.jobs
        self._title = run_title(result) if title is None else title
        self._steps = Steps.of(result)
        self._ids: list[str] = self._jobs["job_id"].tolist()
        count = len(self._steps)
        last = float(self._steps.time[-1]) if count else 0.0
        self._horizon = max(float(result.power["time"].iloc[-1]), last)
        self._time = np.append(self._steps.time, self._horizon)
        self.begin, self.stop = self._window(x_range)
        self._eligible = self._column("eligible_time")
        self._finish = self._column("finish_time")
        self._set_frames()
        self._classes = colour_strategy(colour_by)(self._jobs)
        self._places = self._all_places()

    def _column(self, name: str) -> Floats:
        return self._jobs[name].to_numpy(dtype=np.float64)

    def _window(self, x_range: tuple[float, float] | None) -> tuple[int, int]:
        """The frames in a window of time, as a half-open range."""
        if x_range is None:
            return 0, len(self._time)
        begin, end = x_range
        low, high = np.searchsorted(self._time, begin), np.searchsorted(self._time, end, side="right")
        if not low < high:
            wanted = f"a window with a step in it, between {seconds(self._time[0])} and {seconds(self._horizon)}"
            raise InputError("animation, window", wanted, f"{begin:g} to {end:g} s")
        return int(low), int(high)

    def _set_frames(self) -> None:
        steps, jobs = self._steps, len(self._jobs)
        # Who came after the run was stopped is in no frame.
        self._enters = np.where(self._eligible > self._horizon, NEVER, steps.enters)
        self._leaves = steps.leaves
        self._takes: Ints = np.full(jobs, NEVER)
        starts = np.flatnonzero(steps.decisions == "start")
        self._takes[steps.rows[starts]] = starts
        ended = (self._takes < NEVER) & ~np.isnan(self._finish)
        self._gives: Ints = np.full(jobs, NEVER)
        self._gives[ended] = np.searchsorted(self._time, self._finish[ended])
        # A job that ended in the instant in which it started held its cores at no frame.
        self._gives[ended] = np.maximum(self._gives[ended], self._takes[ended] + 1)

    def _all_places(self) -> pd.DataFrame:
        """Which cores jobs held: ``owner`` (row of the job), ``first_core``, ``last_core`` in platform order."""
        platform = self._result.platform
        scale = RowScale.of(platform, "node")
        found = job_rectangles(self._result.allocations, self._jobs, platform, scale, self._horizon)
        return found[["owner", "first_core", "last_core"]].drop_duplicates()

    # ------------------------------------------------------------------ a page

    def page(self, addresses: list[str], place: int) -> str:
        """The text of one page; ``addresses`` are those of all, relative to each other."""
        low = self.begin + place * MOST_FRAMES
        high = min(low + MOST_FRAMES, self.stop)
        firsts = [self.begin + i * MOST_FRAMES for i in range(len(addresses))]
        data = self._data(low, high) | {
            "begin": self.begin,
            "stop": self.stop,
            "pages": [list(pair) for pair in zip(addresses, firsts, strict=True)],
        }
        # Within a script only "<" could end it, or begin a comment that hides its end.
        content = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
        heading = html.escape(self._title)
        body = BODY.format(
            heading=heading,
            lead=html.escape(self._lead()),
            notes="".join(f"<p class=note>{html.escape(note)}</p>" for note in self._notes()),
            pages=self._links(addresses, firsts, place),
            legend=self._legend(),
            first=low + 1,
            last=high,
            data=content,
            script=(files("analysis") / "stepping.js").read_text(encoding="utf-8"),
        )
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{heading}</title>\n<style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
        )

    def _lead(self) -> str:
        platform = self._result.platform
        return (
            f"{counted(len(self._jobs), 'job')} on {counted(platform.node_count, 'node')}, "
            f"{counted(platform.core_count, 'core')}. Each step is a decision of the scheduler: the page shows what it "
            "had before it, and what it made of that."
        )

    def _notes(self) -> list[str]:
        notes = []
        if not self._steps.logged and len(self._steps):
            notes.append(
                "This run kept no log of decisions (run --explain): its steps are its starts and refusals, and what is "
                "said of them is read off the records. They do not say why a job waited."
            )
        before, after = self.begin, len(self._time) - self.stop
        if before or after:
            outside = listing(
                [f"{counted(n, 'step')} {where}" for n, where in ((before, "before"), (after, "after")) if n]
            )
            notes.append(
                f"A window of the run: steps {self.begin + 1:,} to {self.stop:,} of {len(self._time):,}. "
                f"Not in {'it' if self.stop - self.begin <= MOST_FRAMES else 'these pages'}: {outside}."
            )
        return notes

    def _links(self, addresses: list[str], firsts: list[int], here: int) -> str:
        if len(addresses) == 1:
            return ""
        links = []
        for place, (address, first) in enumerate(zip(addresses, firsts, strict=True)):
            text = f"{first + 1:,}–{min(first + MOST_FRAMES, self.stop):,}"
            mark = ' aria-current="page"' if place == here else ""
            links.append(f'<a href="{html.escape(address)}"{mark}>{text}</a>')
        return f'<nav aria-label="pages">Steps {" ".join(links)}</nav>'

    def _legend(self) -> str:
        classes = self._classes
        if not classes.title:
            return ""
        entries = "".join(
            f'<span><i style="background:{colour}"></i>{html.escape(name)}</span>'
            for name, colour in zip(classes.names, classes.colours, strict=True)
        )
        return f'<p class="legend"><b>{html.escape(classes.title)}</b>{entries}</p>'

    # ------------------------------------------------------------------ its data

    def _data(self, low: int, high: int) -> dict[str, Any]:
        """What ``stepping.js`` reads of the frames ``low`` to ``high``; jobs by their place in ``jobs``, in queue order."""
        frames = range(low, high)
        deciding = {int(self._steps.rows[frame]) for frame in frames if frame < len(self._steps)}
        seen = (self._enters < high) & (self._leaves >= low) | (self._takes < high) & (self._gives >= low)
        seen[list(deciding)] = True
        rows = np.flatnonzero(seen)
        rows = rows[np.argsort(self._eligible[rows], kind="stable")]
        at = dict(zip(rows.tolist(), range(len(rows)), strict=True))
        scenes = [self._scene(frame) for frame in frames]
        following = self._time[high] if high < self.stop else self._time[high - 1]
        return {
            "first": low,
            "total": len(self._steps),
            "logged": self._steps.logged,
            "until": float(following),
            "time": self._time[low:high].tolist(),
            "kind": [scene[0] for scene in scenes],
            "job": [at[int(self._steps.rows[frame])] if frame < len(self._steps) else -1 for frame in frames],
            "words": [scene[1] for scene in scenes],
            "reason": [scene[2] for scene in scenes],
            "jobs": self._job_data(rows),
            "said": self._said_data(low, high, rows, at),
            "places": self._place_data(at),
            "states": self._state_data(low, high),
            "nodes": self._node_data(),
            "colours": list(self._classes.colours),
            "inks": [text_colour(colour) for colour in self._classes.colours],
        }

    def _scene(self, frame: int) -> tuple[str, str, str]:
        """Kind of decision, words and reason of a frame."""
        if frame == len(self._steps):
            states = self._jobs["state"].value_counts()
            became = listing([f"{n:,} {state}" for state, n in states.items()])
            return "end", "The end of the run.", f"Jobs: {became}." if became else "It had no jobs."
        step = self._steps[frame]
        return step.decision, step.words(), step.reason() if self._steps.logged else self._read_off(frame)

    def _read_off(self, frame: int) -> str:
        """What the records tell about a start; a refusal has its reason in them."""
        step, row = self._steps[frame], int(self._steps.rows[frame])
        if step.decision != "start":
            return step.reason()
        if step.time == self._eligible[row]:
            how = "It was started as soon as it came"
        else:
            ended = np.flatnonzero((self._finish == step.time) & (self._takes < frame))
            names = [self._ids[each] for each in ended.tolist()]
            more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
            how = f"It had waited {seconds(step.time - self._eligible[row])}"
            if names:
                how += f", until {'job' if len(names) == 1 else 'jobs'} {listing(names[:NAMED] + more)} ended"
        queue = np.flatnonzero((self._enters <= frame) & (self._leaves >= frame))
        earlier = int(((self._eligible[queue] < self._eligible[row]) & (queue != row)).sum())
        still = f" {counted(earlier, 'job')} that came earlier still {'waits' if earlier == 1 else 'wait'}."
        return f"{how}.{still if earlier else ''}"

    def _said_data(self, low: int, high: int, rows: Ints, at: dict[int, int]) -> list[list[Any]]:
        """``[frame, job, words, 1 for a promise]``: what is said in these frames, and what had last been said before."""
        last: dict[tuple[int, int], list[Any]] = {}
        found = []
        for frame, row, text in self._steps.said(high, rows):
            promise = int(self._steps.decisions[frame] == "reserve")
            entry = [frame, at[row], text, promise]
            if frame < low:
                last[row, promise] = entry
            else:
                found.append(entry)
        return [*last.values(), *found]

    def _job_data(self, rows: Ints) -> dict[str, list[Any]]:
        jobs = self._jobs.iloc[rows]
        return {
            "id": jobs["job_id"].tolist(),
            "cores": jobs["requested_cores"].tolist(),
            "asks": _numbers(jobs["requested_time"]),
            "state": jobs["state"].tolist(),
            "since": _numbers(jobs["eligible_time"]),
            "begins": _numbers(jobs["start_time"]),
            "ends": _numbers(jobs["finish_time"]),
            "colour": np.asarray(self._classes.code)[rows].tolist(),
            "enters": _frames(self._enters[rows]),
            "leaves": _frames(self._leaves[rows]),
            "takes": _frames(self._takes[rows]),
            "gives": _frames(self._gives[rows]),
        }

    def _place_data(self, at: dict[int, int]) -> list[list[int]]:
        """``[job, first core, last core]``, cores in platform order."""
        shown = self._places[self._places["owner"].isin(list(at))]
        owner, first, last = (shown[name].tolist() for name in ("owner", "first_core", "last_core"))
        return [[at[row], low, high] for row, low, high in zip(owner, first, last, strict=True)]

    def _state_data(self, low: int, high: int) -> list[list[Any]]:
        """``[node, state, first frame, frame after the last]`` of nodes that cannot work."""
        table, platform = self._result.node_states, self._result.platform
        table = table[table["state"].isin(SHOWN_STATES)]
        first = np.searchsorted(self._time, table["start"].to_numpy(dtype=np.float64))
        end = table["end"].fillna(np.inf).to_numpy(dtype=np.float64)
        # The run's end is in the state that lasted until then.
        after = np.where(end >= self._horizon, len(self._time), np.searchsorted(self._time, end))
        within = np.flatnonzero((first < high) & (after > low) & (first < after))
        names, states = table["node"].tolist(), table["state"].astype(str).tolist()
        return [[platform.node_index(str(names[i])), states[i], int(first[i]), int(after[i])] for i in within.tolist()]

    def _node_data(self) -> dict[str, list[Any]]:
        platform = self._result.platform
        first = np.concatenate([[0], np.cumsum(platform.node_cores)])
        return {"name": platform.node_names(), "first": first.tolist()}


def _numbers(values: pd.Series) -> list[float | None]:
    """Numbers for JSON, which has neither NaN nor infinity: None."""
    return [value if math.isfinite(value) else None for value in values.astype(float).tolist()]


def _frames(values: Ints) -> list[int]:
    """Frames for JavaScript, whose whole numbers end at 2^53."""
    return [int(value) for value in np.minimum(values, 2**40)]
