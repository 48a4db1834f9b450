"""The frames of a run, which its pages show one by one, and all that a page needs to know of them.

Frame ``i`` is the cluster as it was before decision ``i`` of its scheduler, with that decision; one more, the last, is
the end of the run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.palette import ColourStrategy, colour_strategy, text_colour
from analysis.rectangles import SHOWN_STATES, RowScale, job_rectangles
from analysis.steps import NEVER, Steps
from analysis.wording import listing
from cluster_sim.errors import InputError
from cluster_sim.run.shortage import counted, seconds

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

NAMED = 3
"""Jobs that a sentence names before it counts the rest."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Film:
    """All frames of a run, numbered from 0; ``begin`` to ``stop`` are those to be shown.

    Per row of the jobs table: a job is in the queue at the frames ``enters`` to ``leaves``, both included, and holds
    its cores at those between ``takes`` and ``gives``, both excluded. Frames that never come are NEVER.
    """

    def __init__(
        self,
        result: Result,
        x_range: tuple[float, float] | None,
        colour_by: str | ColourStrategy,
    ):
        self._result = result
        self._jobs = result.jobs
        self._steps = Steps.of(result)
        self._ids: list[str] = self._jobs["job_id"].tolist()
        self._eligible = self._column("eligible_time")
        self._finish = self._column("finish_time")
        # Power is recorded up to the last completion, after which jobs may still be refused or killed.
        ends = [float(result.power["time"].iloc[-1]), *self._steps.time[-1:], *self._finish[~np.isnan(self._finish)]]
        self._horizon = max(ends)
        self._time = np.append(self._steps.time, self._horizon)
        self.begin, self.stop = self._window(x_range)
        self._set_frames()
        self.classes = colour_strategy(colour_by)(self._jobs)
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
        table = job_rectangles(self._result.allocations, self._jobs, platform, scale, self._horizon)
        found = table[["owner", "first_core", "last_core"]].drop_duplicates()
        # Who was killed while its nodes booted has no allocation, only the log's nodes: their last cores stand for its.
        unknown = np.setdiff1d(np.flatnonzero(self._takes < NEVER), found["owner"].to_numpy())
        edges = np.cumsum(platform.node_cores)
        added = [
            (row, int(edges[node]) - cores, int(edges[node]) - 1)
            for row in unknown.tolist()
            for first, last, cores in self._steps.spans(int(self._takes[row]))
            for node in range(first, last + 1)
        ]
        return pd.concat([found, pd.DataFrame(added, columns=found.columns)]) if added else found

    # ------------------------------------------------------------------ its data

    def __len__(self) -> int:
        """All frames of the run, those outside the window too."""
        return len(self._time)

    @property
    def logged(self) -> bool:
        """Whether the run kept a log of its decisions, or made none."""
        return self._steps.logged or not len(self._steps)

    def data(self, low: int, high: int) -> dict[str, Any]:
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
            "tells": self._steps.tells_of_waiting,
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
            "colours": list(self.classes.colours),
            "inks": [text_colour(colour) for colour in self.classes.colours],
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
            "colour": np.asarray(self.classes.code)[rows].tolist(),
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
        node = np.array([platform.node_index(str(name)) for name in table["node"]], np.int64)
        start, end = (table[name].to_numpy(dtype=np.float64) for name in ("start", "end"))
        booted = self._boots()
        first = self._frames_of(start, node, booted)
        # The run's end is in the state that lasted until then.
        after = np.where(end >= self._horizon, len(self._time), self._frames_of(end, node, booted))
        within = np.flatnonzero((first < high) & (after > low) & (first < after))
        states = table["state"].astype(str).tolist()
        return [[int(node[i]), states[i], int(first[i]), int(after[i])] for i in within.tolist()]

    def _frames_of(self, time: Floats, node: Ints, booted: dict[tuple[int, float], int]) -> Ints:
        """The first frames at which a node's new state is seen: that after the decision to boot it, if one was made."""
        found: Ints = np.searchsorted(self._time, time)
        for row, key in enumerate(zip(node.tolist(), time.tolist(), strict=True)):
            if key in booted:
                found[row] = booted[key] + 1
        return found

    def _boots(self) -> dict[tuple[int, float], int]:
        """Which decision had a node boot: (node, time in s) -> frame."""
        allocated, begins = self._column("allocation_time"), self._column("start_time")
        late = np.flatnonzero((self._takes < NEVER) & ~(begins <= allocated))
        shown = self._places[self._places["owner"].isin(late)]
        edges = np.cumsum(self._result.platform.node_cores)
        found: dict[tuple[int, float], int] = {}
        for row, low, high in zip(*(shown[name].tolist() for name in shown), strict=True):
            nodes = range(int(np.searchsorted(edges, low, "right")), int(np.searchsorted(edges, high, "right")) + 1)
            for node in nodes:
                found.setdefault((node, float(allocated[row])), int(self._takes[row]))
        return found

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
