"""The frames of a run, which the stepping page and ``explore`` show one by one, and all that is shown with them.

Frame ``i`` is the cluster as it was before decision ``i`` of its scheduler, with that decision; one more, the last, is
the end of the run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.palette import ColourClasses, text_colour
from analysis.rectangles import SHOWN_STATES, RowScale, piece_rectangles
from analysis.steps import Steps
from analysis.wording import listing
from cluster_sim.errors import InputError
from cluster_sim.records.attempt_tables import GUEST, numbers_of_attempts
from cluster_sim.run.shortage import counted, seconds

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

NEVER = np.iinfo(np.int64).max
NAMED = 3
"""Jobs that a sentence names before it counts the rest."""
MOST_PAST = 2_000
"""Pieces of the schedule before the first of some frames: the latest ones, of which a browser still draws that many."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Frames:
    """All frames of a run, numbered from 0.

    A *stay* is a job in the queue, at the frames ``enters`` to ``leaves``, both included: before each attempt to run it,
    and after the last one when it waits again. A *hold* is an attempt of a job, or a guest, with its cores, at the frames
    between ``takes`` and ``gives``, both excluded. Frames that never come are NEVER.
    """

    def __init__(self, result: Result):
        self._result = result
        self._jobs = result.jobs
        self.steps = Steps(result)
        self._ids: list[str] = self._jobs["job_id"].tolist()
        self._eligible = self._column("eligible_time")
        self._finish = self._column("finish_time")
        # Power is recorded up to the last completion, after which jobs may still be refused or killed.
        ends = [float(result.power["time"].iloc[-1]), *self.steps.time[-1:], *self._finish[~np.isnan(self._finish)]]
        self._horizon = max(ends)
        self.time = np.append(self.steps.time, self._horizon)  #: When each frame is, s.
        self._set_holds(result.attempts, result.holds)
        self._set_stays(result.attempts)

    def _column(self, name: str) -> Floats:
        return self._jobs[name].to_numpy(dtype=np.float64)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def logged(self) -> bool:
        """Whether the run kept a log of its decisions, or made none."""
        return self.steps.logged or not len(self.steps)

    def window(self, x_range: tuple[float, float] | None) -> tuple[int, int]:
        """The frames in a window of time (s), as a half-open range. Raises InputError for a window without any."""
        if x_range is None:
            return 0, len(self)
        begin, end = x_range
        low, high = np.searchsorted(self.time, begin), np.searchsorted(self.time, end, side="right")
        if not low < high:
            wanted = f"a window with a step in it, between {seconds(self.time[0])} and {seconds(self._horizon)}"
            raise InputError("animation, window", wanted, f"{begin:g} to {end:g} s")
        return int(low), int(high)

    # ------------------------------------------------------------------ who waits and who holds cores

    def _set_holds(self, attempts: pd.DataFrame, holds: pd.DataFrame) -> None:
        """``_holds``: a row per attempt, in their order, and after these per time that a guest held cores; ``_places``."""
        row = pd.Index(self._ids).get_indexer(pd.Index(attempts["job_id"]))
        starts = np.flatnonzero(self.steps.decisions == "start")
        numbers = numbers_of_attempts(self.steps.rows[starts])
        step_of = dict(zip(zip(self.steps.rows[starts].tolist(), numbers.tolist(), strict=True), starts, strict=True))
        which = zip(row.tolist(), attempts["attempt"].tolist(), strict=True)
        takes = np.array([step_of.get(each, NEVER) for each in which], np.int64)
        end = attempts["end_time"].to_numpy(dtype=np.float64)
        ended = (takes < NEVER) & ~np.isnan(end)
        gives: Ints = np.full(len(attempts), NEVER)
        # A job that ended in the instant in which it started held its cores at no frame.
        gives[ended] = np.maximum(np.searchsorted(self.time, end[ended]), takes[ended] + 1)
        several = np.bincount(row, minlength=1)[row] > 1
        of_jobs = pd.DataFrame(
            {
                "row": row,
                "name": attempts["job_id"],
                "attempt": np.where(several, attempts["attempt"], 0),  # 0: there was but one
                "takes": takes,
                "gives": gives,
                "allocated": attempts["allocation_time"],
                "begins": attempts["start_time"],
                "ends": end,
                "outcome": attempts["outcome"],
            }
        )
        guests = holds[holds["kind"] == GUEST]
        by_time = guests.groupby(["owner", "start", "end"], sort=False, dropna=False)
        times = guests.drop_duplicates(["owner", "start", "end"])
        ends = times["end"].where(times["end"] < self._horizon)
        of_guests = pd.DataFrame(
            {
                "row": -1,
                "name": times["owner"],
                "attempt": 0,
                # One that is given its cores has them before the scheduler's decisions of that instant.
                "takes": np.searchsorted(self.time, times["start"]) - 1,
                "gives": np.where(ends.isna(), NEVER, np.searchsorted(self.time, ends)),
                "allocated": times["start"],
                "begins": times["start"],
                "ends": ends,
                "outcome": "",
            }
        )
        self._holds = pd.concat([of_jobs, of_guests], ignore_index=True) if len(times) else of_jobs
        attempt_of = pd.MultiIndex.from_frame(attempts[["job_id", "attempt"]])
        owner = attempt_of.get_indexer(pd.MultiIndex.from_frame(holds[["owner", "attempt"]]))
        owner[(holds["kind"] == GUEST).to_numpy()] = len(attempts) + by_time.ngroup().to_numpy()
        self._places = self._all_places(holds, owner, takes)

    def _all_places(self, holds: pd.DataFrame, owner: Ints, takes: Ints) -> pd.DataFrame:
        """Which cores were held: ``owner`` (row of the hold), ``first_core``, ``last_core`` in platform order."""
        platform = self._result.platform
        table = piece_rectangles(holds, owner, platform, RowScale.of(platform, "node"), self._horizon)
        found = table.loc[table["owner"] >= 0, ["owner", "first_core", "last_core"]].drop_duplicates()
        # Of a saved run of one attempt each, a job killed while its nodes booted has cores in the log alone, which names
        # the nodes: their last cores stand for its.
        unknown = np.setdiff1d(np.flatnonzero(takes < NEVER), found["owner"].to_numpy())
        edges = np.cumsum(platform.node_cores)
        added = [
            (row, int(edges[node]) - cores, int(edges[node]) - 1)
            for row in unknown.tolist()
            for first, last, cores in self.steps.spans(int(takes[row]))
            for node in range(first, last + 1)
        ]
        return pd.concat([found, pd.DataFrame(added, columns=found.columns)]) if added else found

    def _set_stays(self, attempts: pd.DataFrame) -> None:
        """``_stays``: a row per attempt, that ends with it, and per job that waits without one that follows."""
        row, leaves = self._holds["row"].to_numpy()[: len(attempts)], self._holds["takes"].to_numpy()[: len(attempts)]
        last_end = self._eligible.copy()
        last_end[row] = attempts["end_time"]  # in order of allocation, so that the last remains
        again = np.full(len(self._jobs), True)
        again[row] = ~np.isnan(last_end[row]) & ~(self._finish[row] <= last_end[row])
        waiting = np.flatnonzero(again)
        finish = self._finish[waiting]
        # Who was cancelled while it waited is in no step.
        out = np.where(np.isnan(finish), NEVER, np.searchsorted(self.time[:-1], finish) - 1)
        rejected = np.flatnonzero(self.steps.decisions == "reject")
        refusal = dict(zip(self.steps.rows[rejected].tolist(), rejected.tolist(), strict=True))
        out = np.array([refusal.get(job, left) for job, left in zip(waiting.tolist(), out, strict=True)], np.int64)
        job, since = np.append(row, waiting), np.append(attempts["queue_time"], last_end[waiting])
        # Who came after the run was stopped is in no frame.
        never = np.isnan(since) | (since > self._horizon)
        enters = np.where(never, NEVER, np.searchsorted(self.time[:-1], since))
        came = self._eligible[job]
        table = {"row": job, "since": since, "enters": enters, "leaves": np.append(leaves, out), "again": since > came}
        order = np.lexsort((since, job, came))
        self._stays = pd.DataFrame(table).iloc[order].reset_index(drop=True)

    # ------------------------------------------------------------------ one frame

    def queue(self, frame: int) -> pd.DataFrame:
        """The jobs that wait at a frame, in order of submission: job_id, waited (s), cores, requested_time (s), because."""
        stays = self._stays[(self._stays["enters"] <= frame) & (self._stays["leaves"] >= frame)]
        jobs = self._jobs.iloc[stays["row"]]
        return pd.DataFrame(
            {
                "job_id": jobs["job_id"].tolist(),
                "waited": (self.time[frame] - stays["since"]).to_numpy(),
                "cores": jobs["requested_cores"].to_numpy(),
                "requested_time": jobs["requested_time"].to_numpy(),
                "because": [entries[-1][1] for entries in self._reasons(stays, frame, frame + 1)],
            }
        )

    def held(self, frame: int) -> Ints:
        """Cores that are held on each node at a frame, those for which a node still boots included."""
        holds = np.flatnonzero((self._holds["takes"] < frame) & (self._holds["gives"] > frame))
        places = self._places[self._places["owner"].isin(holds)]
        edges = np.concatenate([[0], np.cumsum(self._result.platform.node_cores)])
        change = np.zeros(edges[-1] + 1, np.int64)
        np.add.at(change, places["first_core"], 1)
        np.add.at(change, places["last_core"] + 1, -1)
        held: Ints = np.add.reduceat(np.cumsum(change)[:-1], edges[:-1])
        return held

    def states(self, frame: int) -> npt.NDArray[np.object_]:
        """The state of each node at a frame: OFF, SWITCHING_ON, IDLE, COMPUTING, …"""
        found = np.where(self.held(frame) > 0, "COMPUTING", "IDLE").astype(object)
        for node, state, first, after in self._away:
            if first <= frame < after:
                found[node] = state
        return found

    # ------------------------------------------------------------------ what shows them

    def data(self, low: int, high: int, classes: ColourClasses) -> dict[str, Any]:
        """What ``stepper.js`` reads of the frames ``low`` to ``high``; jobs by their place in ``jobs``, in queue order."""
        frames = range(low, high)
        deciding = self.steps.rows[low:high]
        stays = self._stays[(self._stays["enters"] < high) & (self._stays["leaves"] >= low)]
        shown = (self._holds["takes"] < high) & (self._holds["gives"] >= low)
        rows = np.unique(
            np.concatenate([deciding, stays["row"], self._holds["row"][shown & (self._holds["row"] >= 0)]])
        )
        rows = rows[np.argsort(self._eligible[rows], kind="stable")]
        at = dict(zip(rows.tolist(), range(len(rows)), strict=True))
        past, since, cut = self._past(low)
        scenes = [self._scene(frame) for frame in frames]
        return {
            "first": low,
            "total": len(self.steps),
            "since": since,
            "cut": cut,
            "until": float(self.time[min(high, len(self) - 1)]),
            "time": self.time[low:high].tolist(),
            "kind": [scene[0] for scene in scenes],
            "job": [at[int(self.steps.rows[frame])] if frame < len(self.steps) else -1 for frame in frames],
            "words": [scene[1] for scene in scenes],
            "reason": [scene[2] for scene in scenes],
            "jobs": {
                "id": self._jobs["job_id"].iloc[rows].tolist(),
                "cores": self._jobs["requested_cores"].iloc[rows].tolist(),
                "asks": _numbers(self._jobs["requested_time"].iloc[rows]),
            },
            "stays": self._stay_data(stays, at, low, high),
            "holds": self._hold_data(np.append(past, np.flatnonzero(shown)), at, classes),
            "states": [each for each in self._away if each[2] < high and each[3] > low],
            "nodes": self._node_data(),
            "colours": list(classes.colours),
            "inks": [text_colour(colour) for colour in classes.colours],
            "legend": {"title": classes.title, "names": list(classes.names) if classes.title else []},
        }

    def _past(self, low: int) -> tuple[Ints, float, bool]:
        """The holds that were over before a frame; only the latest if they are many, and from when on (s) all are there."""
        over = np.flatnonzero((self._holds["gives"] < low) & self._holds["begins"].notna())
        ends = self._holds["ends"].to_numpy()[over]
        over, ends = over[np.argsort(-ends, kind="stable")], -np.sort(-ends)
        pieces = np.bincount(self._places["owner"], minlength=len(self._holds))[over]
        kept = int(np.searchsorted(np.cumsum(pieces), MOST_PAST, side="right"))
        cut = kept < len(over)
        return over[:kept], float(ends[kept] if cut else self.time[0]), cut

    def _scene(self, frame: int) -> tuple[str, str, str]:
        """Kind of decision, words and reason of a frame."""
        if frame == len(self.steps):
            states = self._jobs["state"].value_counts()
            became = listing([f"{n:,} {state}" for state, n in states.items()])
            return "end", "The end of the run.", f"Jobs: {became}." if became else "It had no jobs."
        step = self.steps[frame]
        return step.decision, step.words(), step.reason() if self.steps.logged else self._read_off(frame)

    def _read_off(self, frame: int) -> str:
        """What the records tell about a start; a refusal has its reason in them."""
        step, row = self.steps[frame], int(self.steps.rows[frame])
        if step.decision != "start":
            return step.reason()
        waiting = self._stays[(self._stays["enters"] <= frame) & (self._stays["leaves"] >= frame)]
        since, again = waiting.loc[waiting["row"] == row, ["since", "again"]].iloc[0]
        if step.time == since:
            how = f"It was started as soon as it came{' back' if again else ''}"
        else:
            ended = self._holds[(self._holds["ends"] == step.time) & (self._holds["takes"] < frame)]
            names = ended.loc[ended["row"] >= 0, "name"].tolist()
            more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
            how = f"It had waited {seconds(step.time - since)}"
            if names:
                how += f", until {'job' if len(names) == 1 else 'jobs'} {listing(names[:NAMED] + more)} ended"
        earlier = int(((self._eligible[waiting["row"]] < self._eligible[row]) & (waiting["row"] != row)).sum())
        still = f" {counted(earlier, 'job')} that came earlier still {'waits' if earlier == 1 else 'wait'}."
        return f"{how}.{still if earlier else ''}"

    def _reasons(self, stays: pd.DataFrame, low: int, high: int) -> list[list[tuple[int, str]]]:
        """For each stay why the job waits: (frame, words) from that frame on, of the last before ``low`` and all since.

        The log says nothing of jobs whose only reason is the queue's head; a run without a log says nothing at all, nor
        does a scheduler that gives no reasons.
        """
        said: dict[int, list[tuple[int, str, bool]]] = defaultdict(list)
        for frame, row, text in self.steps.said(high, stays["row"].to_numpy()):
            said[row].append((frame, text, self.steps.decisions[frame] == "reserve"))
        silent = "behind the head of the queue" if self.steps.tells_of_waiting else "–"
        found = []
        later = np.searchsorted(self.time, stays["since"], side="right").tolist()
        columns = (stays[name].tolist() for name in ("row", "again", "enters", "leaves"))
        for row, again, enters, leaves, afterwards in zip(*columns, later, strict=True):
            own = [each for each in said[row] if enters <= each[0] <= leaves]
            entries = [(enters, "just came back" if again else "just came")]
            if afterwards < (own[0][0] if own else leaves + 1):
                entries.append((afterwards, silent))
            last = {True: "", False: ""}
            for frame, text, promise in own:
                last[promise] = text
                entries.append((frame, "; ".join(filter(None, (last[False], last[True])))))
            before = [entry for entry in entries if entry[0] <= low][-1:]
            found.append(before + [entry for entry in entries if low < entry[0] < high])
        return found

    def _stay_data(self, stays: pd.DataFrame, at: dict[int, int], low: int, high: int) -> dict[str, list[Any]]:
        return {
            "job": [at[row] for row in stays["row"].tolist()],
            "since": _numbers(stays["since"]),
            "again": stays["again"].tolist(),
            "enters": _frames(stays["enters"]),
            "leaves": _frames(stays["leaves"]),
            "because": [[list(entry) for entry in entries] for entries in self._reasons(stays, low, high)],
        }

    def _hold_data(self, rows: Ints, at: dict[int, int], classes: ColourClasses) -> dict[str, list[Any]]:
        """``job`` is -1 for a guest, and for what was over before; ``places``: ``[first core, last core]``, platform order."""
        holds = self._holds.iloc[rows]
        row = holds["row"].to_numpy()
        places: dict[int, list[list[int]]] = defaultdict(list)
        shown = self._places[self._places["owner"].isin(rows)]
        for owner, *cores in zip(*(shown[name].tolist() for name in shown), strict=True):
            places[owner].append(cores)
        return {
            "job": [at.get(job, -1) for job in row.tolist()],
            "name": holds["name"].tolist(),
            "attempt": holds["attempt"].tolist(),
            "takes": _frames(holds["takes"]),
            "gives": _frames(holds["gives"]),
            "begins": _numbers(holds["begins"]),
            "ends": _numbers(holds["ends"]),
            "outcome": holds["outcome"].tolist(),
            "colour": [-1 if job < 0 else int(classes.code[job]) for job in row.tolist()],  # -1: a guest
            "places": [places[owner] for owner in rows.tolist()],
        }

    @cached_property
    def _away(self) -> list[tuple[int, str, int, int]]:
        """(node, state, first frame, frame after the last) of nodes that cannot work."""
        table, platform = self._result.node_states, self._result.platform
        table = table[table["state"].isin(SHOWN_STATES)]
        node = np.array([platform.node_index(str(name)) for name in table["node"]], np.int64)
        start, end = (table[name].to_numpy(dtype=np.float64) for name in ("start", "end"))
        booted = self._boots()
        first = self._frames_of(start, node, booted)
        # The run's end is in the state that lasted until then.
        after = np.where(end >= self._horizon, len(self), self._frames_of(end, node, booted))
        states = table["state"].astype(str).tolist()
        rows = zip(node.tolist(), states, first.tolist(), after.tolist(), strict=True)
        return [row for row in rows if row[2] < row[3]]

    def _frames_of(self, time: Floats, node: Ints, booted: dict[tuple[int, float], int]) -> Ints:
        """The first frames at which a node's new state is seen: that after the decision to boot it, if one was made."""
        found: Ints = np.searchsorted(self.time, time)
        for row, key in enumerate(zip(node.tolist(), time.tolist(), strict=True)):
            if key in booted:
                found[row] = booted[key] + 1
        return found

    def _boots(self) -> dict[tuple[int, float], int]:
        """Which decision had a node boot: (node, time in s) -> frame."""
        allocated, takes = self._holds["allocated"].to_numpy(), self._holds["takes"].to_numpy()
        late = np.flatnonzero((takes < NEVER) & ~(self._holds["begins"].to_numpy() <= allocated))
        shown = self._places[self._places["owner"].isin(late)]
        edges = np.cumsum(self._result.platform.node_cores)
        found: dict[tuple[int, float], int] = {}
        for row, low, high in zip(*(shown[name].tolist() for name in shown), strict=True):
            nodes = range(int(np.searchsorted(edges, low, "right")), int(np.searchsorted(edges, high, "right")) + 1)
            for node in nodes:
                found.setdefault((node, float(allocated[row])), int(takes[row]))
        return found

    def _node_data(self) -> dict[str, list[Any]]:
        platform = self._result.platform
        first = np.concatenate([[0], np.cumsum(platform.node_cores)])
        return {"name": platform.node_names(), "first": first.tolist()}


def _numbers(values: pd.Series) -> list[float | None]:
    """Numbers for JSON, which has neither NaN nor infinity: None."""
    return [value if math.isfinite(value) else None for value in values.astype(float).tolist()]


def _frames(values: pd.Series) -> list[int]:
    """Frames for JavaScript, whose whole numbers end at 2^53."""
    return [int(value) for value in np.minimum(values, 2**40)]
