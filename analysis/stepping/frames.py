"""Frames of a run, which the stepping page and ``explore`` show one by one, and the data shown with them.

Frame ``i`` is the cluster as it was before decision ``i`` of its scheduler, with that decision; the last frame is the
end of the run.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.figures.palette import ColourClasses, text_colour
from analysis.gantt_chart.rectangles import SHOWN_STATES, rectangles_of
from analysis.gantt_chart.rows import RowScale
from analysis.stepping.steps import Step, Steps, rows_of_jobs
from analysis.tables.wording import listing
from cluster_sim.amounts import in_seconds, lasting
from cluster_sim.errors import InputError, counted
from cluster_sim.records.attempt_tables import numbers_of_attempts
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.reasons.spells import MOVED, RESIZED, SUSPENDED, Spell
from cluster_sim.records.reasons.waiting import InstantsOfWait
from cluster_sim.records.result import Result

NEVER = np.iinfo(np.int64).max
NAMED = 3
"""Number of jobs that a sentence names before it counts the rest."""
MOST_PAST = 2_000
"""Number of pieces of the earlier schedule, the latest ones, that a page carries; a browser can draw that many."""

_HOLD = ["row", "job_id", "attempt", "takes", "gives", "allocation_time", "start_time", "end_time", "outcome"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Frames:
    """Frames of a run, numbered from 0.

    A *stay* is a job in the queue, at the frames ``enters`` to ``leaves``, both included: before each attempt to run it,
    and after the last attempt if it waits again. If the job was killed for a while, the time before and after are two
    stays. A *hold* is an attempt of a job, a piece of an attempt, or a guest, with its cores, at the frames between
    ``takes`` and ``gives``, both excluded; ``attempt`` is 0 if the job had only one. Frames that never come are NEVER.
    """

    def __init__(self, result: Result):
        self._result = result
        self._jobs = result.jobs
        self._first_core = np.concatenate([[0], np.cumsum(result.platform.node_cores)])
        self.steps = Steps(result)
        self._eligible, self._finish = (
            self._jobs[name].to_numpy(dtype=np.float64) for name in ("eligible_time", "finish_time")
        )
        # Power is recorded up to the last completion, after which jobs may still be refused or killed.
        self._recorded = float(result.power["time"].iloc[-1])
        ends = [self._recorded, *self.steps.time[-1:], *self._finish[~np.isnan(self._finish)]]
        self._horizon = max(ends)
        self.time = np.append(self.steps.time, self._horizon)  #: Time of each frame, s.
        self._moment: tuple[float, InstantsOfWait] | None = None  # the run at the frame shown last
        self._set_holds(result.attempts, result.core_holds)
        self._set_stays(result.attempts)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def logged(self) -> bool:
        """Return whether the run kept a log of its decisions, or made none."""
        return self.steps.logged or not len(self.steps)

    def window(self, x_range: tuple[float, float] | None) -> tuple[int, int]:
        """Return the frames in a window of time (s), as a half-open range. Raises InputError for an empty window."""
        if x_range is None:
            return 0, len(self)
        begin, end = x_range
        low, high = np.searchsorted(self.time, begin), np.searchsorted(self.time, end, side="right")
        if not low < high:
            wanted = f"a window with a step in it, between {in_seconds(self.time[0])} and {in_seconds(self._horizon)}"
            raise InputError("animation, window", wanted, f"{begin:g} to {end:g} s")
        return int(low), int(high)

    # ------------------------------------------------------------------ who waits and who holds cores

    def _set_holds(self, attempts: pd.DataFrame, cores: CoreHolds) -> None:
        """Set ``_places`` and ``_holds``, with a row per attempt, in their order, then a row per guest's hold."""
        row = rows_of_jobs(attempts, self._jobs)
        starts = np.flatnonzero(self.steps.decisions == "start")
        numbers = numbers_of_attempts(self.steps.rows[starts])
        step_of = dict(zip(zip(self.steps.rows[starts].tolist(), numbers.tolist(), strict=True), starts, strict=True))
        which = list(zip(row.tolist(), attempts["attempt"].tolist(), strict=True))
        takes = np.array([step_of.get(each, NEVER) for each in which], np.int64)
        end = attempts["end_time"].to_numpy(dtype=np.float64)
        ended = (takes < NEVER) & ~np.isnan(end)
        gives: Ints = np.full(len(attempts), NEVER)
        # A job that ended in the instant in which it started held its cores at no frame.
        gives[ended] = np.maximum(np.searchsorted(self.time, end[ended]), takes[ended] + 1)
        several = attempts["job_id"].duplicated(keep=False)
        of_jobs = attempts.assign(row=row, attempt=attempts["attempt"].where(several, 0), takes=takes, gives=gives)
        held, from_guest = cores.held, cores.held.tenant >= len(cores.job)
        of_guest = cores.of_guests()
        names = np.array([*cores.guests], object)[of_guest.tenant]
        guests = pd.DataFrame({"owner": names, "attempt": 0, "start": of_guest.start, "end": of_guest.end})
        spells = ["owner", "start", "end"]
        times = guests.drop_duplicates(spells)
        ends = times["end"].where(times["end"] < self._recorded)
        of_jobs, later = self._cut(of_jobs)
        of_guests = times.assign(
            row=-1,
            job_id=times["owner"],
            # A guest has its cores before the scheduler's decisions of that instant.
            takes=np.searchsorted(self.time, times["start"]) - 1,
            gives=np.where(ends.isna(), NEVER, np.searchsorted(self.time, ends)),
            allocation_time=times["start"],
            start_time=times["start"],
            end_time=ends,
            outcome="",
        )
        parts = [of_jobs, *([of_guests] if len(times) else []), *([later] if len(later) else [])]
        self._holds = pd.concat(parts, ignore_index=True)[_HOLD]
        place = dict(zip(which, range(len(attempts)), strict=True))
        tenants = zip(cores.job.tolist(), cores.attempt.tolist(), strict=True)
        owner = np.array([place.get(each, -1) for each in tenants] or [-1], np.int64)[
            np.where(from_guest, 0, held.tenant)
        ]
        if len(later):
            self._tell_pieces_apart(owner, cores, len(of_jobs) + len(times))
        owner[from_guest] = len(attempts) + guests.groupby(spells, sort=False, dropna=False).ngroup()
        table = rectangles_of(held.of(owner), RowScale.of(self._result.platform, "node"))
        # If a job was killed while its nodes booted, after the last completion, only the log has its nodes: the last
        # cores of these nodes stand for its cores.
        unknown = np.setdiff1d(np.flatnonzero(takes < NEVER), owner).tolist()
        spans = [(each, span) for each in unknown for span in self.steps.spans[int(takes[each])]]
        edges = self._first_core.tolist()
        added = [
            {"owner": each, "first_core": edges[node + 1] - taken, "last_core": edges[node + 1] - 1}
            for each, (first, stop, taken) in spans
            for node in range(first, stop)
        ]
        table = pd.concat([table, pd.DataFrame(added)]) if added else table
        #: Cores that were held: ``owner`` (row of the hold), ``first_core``, ``last_core`` in platform order.
        self._places = table.loc[table["owner"] >= 0, ["owner", "first_core", "last_core"]].drop_duplicates()

    def _cut(self, of_jobs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the attempts' first pieces, and a row for each later piece; set ``_suspended``."""
        steps, spells = self.steps, getattr(self._result, "spells", {})
        kinds = np.isin(steps.decisions, ("preempt", "resume", "resize"))
        taken = np.flatnonzero(kinds)
        self._change = dict(
            zip(zip(steps.rows[taken].tolist(), steps.time[taken].tolist(), strict=True), taken, strict=True)
        )
        rows, suspended = of_jobs.to_dict("records"), []
        later: list[dict[Any, Any]] = []
        for hold in rows:
            own = [one for one in spells.get(hold["row"], ()) if one.attempt == (hold["attempt"] or 1)]
            if not own:
                continue
            last_gives, outcome = hold["gives"], hold["outcome"]
            current = hold
            for place, spell in enumerate(own):
                is_last = place + 1 == len(own)
                ends = spell.end < self._recorded or not is_last or last_gives < NEVER
                step = self._change.get((spell.row, spell.end))
                gives = last_gives if step is None else int(step) + 1
                if step is None and spell.then in (SUSPENDED, RESIZED, MOVED):
                    gives = int(np.searchsorted(self.time, spell.end)) if ends else NEVER
                gives = max(gives, current["takes"] + 1)
                current |= {"end_time": spell.end if ends else np.nan, "gives": gives}
                current["outcome"] = spell.then if spell.then in (SUSPENDED, RESIZED, MOVED) else outcome
                after_it = None if is_last else own[place + 1]
                takes = gives - 1
                if spell.then == SUSPENDED:
                    takes = self._goes_on(spell, after_it)
                    suspended.append((spell.row, spell.end, gives, takes, spell.cores))
                if after_it is not None:
                    begin = {"takes": takes, "allocation_time": after_it.start, "start_time": after_it.start}
                    current = hold | begin
                    later.append(current)
        columns = ["row", "since", "enters", "leaves", "cores"]
        #: A row per suspension: at the frames ``enters`` to ``leaves``, both included.
        self._suspended = pd.DataFrame(suspended, columns=columns).astype({"row": np.int64, "enters": np.int64})
        first = pd.DataFrame(rows, columns=of_jobs.columns).astype(of_jobs.dtypes)
        return first, pd.DataFrame(later, columns=of_jobs.columns)

    def _goes_on(self, spell: Spell, after: Spell | None) -> int:
        """Return the last frame at which a job is suspended after a spell: then it goes on, or is stopped."""
        step = self._change.get((spell.row, spell.until))
        if step is not None:
            return int(step)
        if after is not None:
            return int(np.searchsorted(self.time, after.start)) - 1
        return NEVER if spell.until == np.inf else int(np.searchsorted(self.time[:-1], spell.until)) - 1

    def _tell_pieces_apart(self, owner: Ints, cores: CoreHolds, first: int) -> None:
        """Set the owners of cores of later pieces of attempts; the holds of these pieces begin at row ``first``."""
        later = self._holds.iloc[first:]
        keys = zip(
            later["row"].tolist(), later["attempt"].replace(0, 1).tolist(), later["start_time"].tolist(), strict=True
        )
        piece = dict(zip(keys, range(first, len(self._holds)), strict=True))
        cut = {(row, attempt) for row, attempt, _ in piece}
        began = {
            (row, attempt or 1): time
            for row, attempt, time in zip(
                *(self._holds[n].tolist()[:first] for n in ("row", "attempt", "allocation_time")), strict=True
            )
        }
        held = cores.held
        for at, (tenant, start) in enumerate(zip(held.tenant.tolist(), held.start.tolist(), strict=True)):
            if tenant < len(cores.job):
                key = int(cores.job[tenant]), int(cores.attempt[tenant])
                if key in cut and start != began[key]:
                    owner[at] = piece.get((*key, start), -1)  # -1: cores that are kept for the next piece

    def _set_stays(self, attempts: pd.DataFrame) -> None:
        """Set ``_stays``: a row per wait before an attempt, and per wait that no attempt followed."""
        row, leaves = self._holds["row"].to_numpy()[: len(attempts)], self._holds["takes"].to_numpy()[: len(attempts)]
        last_end = self._eligible.copy()
        last_end[row] = attempts["over_time"]  # in order of allocation, so that the last remains
        again = np.full(len(self._jobs), True)
        again[row] = ~np.isnan(last_end[row]) & ~(self._finish[row] <= last_end[row])
        waiting = np.flatnonzero(again)
        finish = self._finish[waiting]
        # Cancelling a waiting job is no step.
        out = np.where(np.isnan(finish), NEVER, np.searchsorted(self.time[:-1], finish) - 1)
        rejected = np.flatnonzero(self.steps.decisions == "reject")
        refusal = dict(zip(self.steps.rows[rejected].tolist(), rejected.tolist(), strict=True))
        out = np.array([refusal.get(job, left) for job, left in zip(waiting.tolist(), out, strict=True)], np.int64)
        job, since = np.append(row, waiting), np.append(attempts["queue_time"], last_end[waiting])
        until = np.append(attempts["allocation_time"], np.where(np.isnan(finish), np.inf, finish))
        leaves = np.append(leaves, out)
        # A stay with gaps, in which its job had been killed, is several.
        times = zip(job.tolist(), since.tolist(), until.tolist(), strict=True)
        pieces = [(stay, *piece) for stay, wait in enumerate(times) for piece in self._result.waits.in_queue(*wait)]
        table = np.array(pieces, np.float64).reshape(-1, 3)
        which, since, end = table[:, 0].astype(np.int64), table[:, 1], table[:, 2]
        leaves = np.where(end == until[which], leaves[which], np.searchsorted(self.time[:-1], end) - 1)
        job = job[which]
        # A job that came after the run was stopped is in no frame.
        never = np.isnan(since) | (since > self._horizon)
        enters = np.where(never, NEVER, np.searchsorted(self.time[:-1], since))
        for stay, key in enumerate(zip(job.tolist(), since.tolist(), strict=True) if self._change else ()):
            enters[stay] = self._change.get(key, enters[stay] - 1) + 1
        came = self._eligible[job]
        columns = {"row": job, "since": since, "enters": enters, "leaves": leaves, "again": since > came}
        order = np.lexsort((since, job, came))
        self._stays = pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    # ------------------------------------------------------------------ one frame

    def queue(self, frame: int) -> pd.DataFrame:
        """Return the waiting jobs of a frame, by submission: job_id, waited (s), cores, requested_time (s), because."""
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
        """Return the cores that are held on each node at a frame, also while the node boots for them."""
        holds = np.flatnonzero((self._holds["takes"] < frame) & (self._holds["gives"] > frame))
        places = self._places[self._places["owner"].isin(holds)]
        cores = np.zeros(self._result.platform.core_count, np.int64)
        for first, last in zip(places["first_core"].tolist(), places["last_core"].tolist(), strict=True):
            cores[first : last + 1] += 1
        held: Ints = np.add.reduceat(cores, self._first_core[:-1])
        return held

    def states(self, frame: int) -> npt.NDArray[np.object_]:
        """Return the state of each node at a frame: OFF, SWITCHING_ON, IDLE, COMPUTING, …"""
        found = np.where(self.held(frame) > 0, "COMPUTING", "IDLE").astype(object)
        for node, state, first, after in self._away:
            if first <= frame < after:
                found[node] = state
        return found

    # ------------------------------------------------------------------ what shows them

    def data(self, low: int, high: int, classes: ColourClasses) -> dict[str, Any]:
        """Return the frames ``low`` to ``high`` for ``stepper.js``; jobs are places in ``jobs``, in queue order."""
        frames = range(low, high)
        deciding = self.steps.rows[low:high]
        stays = self._stays[(self._stays["enters"] < high) & (self._stays["leaves"] >= low)]
        suspended = self._suspended[(self._suspended["enters"] < high) & (self._suspended["leaves"] >= low)]
        shown = (self._holds["takes"] < high) & (self._holds["gives"] >= low)
        holding = self._holds["row"][shown & (self._holds["row"] >= 0)]
        rows = np.unique(np.concatenate([deciding, stays["row"], holding]))
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
            "jobs": _plain(self._jobs.iloc[rows][["job_id", "requested_cores", "requested_time"]]),
            "stays": _plain(stays)
            | {"job": [at[row] for row in stays["row"].tolist()], "because": self._reasons(stays, low, high)},
            "suspended": _plain(suspended) | {"job_id": self._jobs["job_id"].iloc[suspended["row"]].tolist()},
            "holds": self._hold_data(np.append(past, np.flatnonzero(shown)), at, classes),
            "states": [each for each in self._away if each[2] < high and each[3] > low],
            "nodes": {"name": self._result.platform.node_names(), "first": self._first_core.tolist()},
            "colours": list(classes.colours),
            "inks": [text_colour(colour) for colour in classes.colours],
            "legend": {"title": classes.title, "names": list(classes.names) if classes.title else []},
        }

    def _past(self, low: int) -> tuple[Ints, float, bool]:
        """Return the latest holds over before a frame, the time (s) from which all are there, whether some lack."""
        over = np.flatnonzero((self._holds["gives"] < low) & self._holds["start_time"].notna())
        ends = self._holds["end_time"].to_numpy()[over]
        over, ends = over[np.argsort(-ends, kind="stable")], -np.sort(-ends)
        pieces = np.bincount(self._places["owner"], minlength=len(self._holds))[over]
        kept = int(np.searchsorted(np.cumsum(pieces), MOST_PAST, side="right"))
        cut = kept < len(over)
        return over[:kept], float(ends[kept] if cut else self.time[0]), cut

    def _scene(self, frame: int) -> tuple[str, str, str]:
        """Return kind of decision, words and reason of a frame."""
        if frame == len(self.steps):
            states = self._jobs["state"].value_counts()
            became = listing([f"{n:,} {state}" for state, n in states.items()])
            return "end", "The end of the run.", f"Jobs: {became}." if became else "It had no jobs."
        step = self.steps[frame]
        return step.decision, step.words(), step.reason() if self.steps.logged else self._read_off(frame, step)

    @cached_property
    def _columns(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]]]:
        """Return the columns of ``_stays`` and ``_holds`` as arrays, which are fast for the few rows of each frame."""
        stays, holds = (
            {str(name): column.to_numpy() for name, column in table.items()} for table in (self._stays, self._holds)
        )
        return stays, holds

    def _read_off(self, frame: int, step: Step) -> str:
        """Return the reason of a start from the records; a refusal has its own reason."""
        row = int(self.steps.rows[frame])
        if step.decision != "start":
            return step.reason()
        stays, holds = self._columns
        waiting = stays["row"][(stays["enters"] <= frame) & (stays["leaves"] >= frame)]
        own = (stays["leaves"] == frame) & (stays["row"] == row)
        waited = step.time - np.fmax.reduce(stays["since"][own], initial=np.nan)
        if not waited > 0:
            how = f"It was started as soon as it came{' back' if stays['again'][own].any() else ''}"
        else:
            ended = (holds["end_time"] == step.time) & (holds["takes"] < frame) & (holds["row"] >= 0)
            over = zip(holds["job_id"][ended], holds["outcome"][ended], strict=True)
            names = [str(job_id) for job_id, outcome in over if outcome not in (SUSPENDED, RESIZED, MOVED)]
            more = [f"{len(names) - NAMED:,} more"] if len(names) > NAMED else []
            how = f"It had waited {lasting(waited)}"
            if names:
                how += f", until {'job' if len(names) == 1 else 'jobs'} {listing(names[:NAMED] + more)} ended"
        earlier = int(((self._eligible[waiting] < self._eligible[row]) & (waiting != row)).sum())
        still = f" {counted(earlier, 'job')} that came earlier still {'waits' if earlier == 1 else 'wait'}."
        return f"{how}.{still if earlier else ''}"

    def _reasons(self, stays: pd.DataFrame, low: int, high: int) -> list[list[tuple[int, str]]]:
        """Return for each stay why its job waits: (frame, words) for each frame from ``low`` on at which words change.

        The words tell why the job waited until the frame's instant, and the job's last promise, this frame included.
        """
        columns = [stays[name].tolist() for name in ("row", "again", "enters", "leaves", "since")]
        found: list[list[tuple[int, str]]] = [[] for _ in columns[0]]
        promised = [dict(self.steps.promises(row)) for row in columns[0]]
        last = [
            max((frame for frame in made if frame < max(low, enters)), default=-1)
            for made, enters in zip(promised, columns[2], strict=True)
        ]
        for frame in range(low, high):
            time = float(self.time[frame])
            here = [i for i, (first, end) in enumerate(zip(*columns[2:4], strict=True)) if first <= frame <= end]
            waited = [i for i in here if columns[4][i] < time]
            # The reasons of one instant are the same at all its frames.
            rows = tuple(columns[0][i] for i in waited)
            if self._moment is None or self._moment[0] > time:
                self._moment = time, self._result.waits.moments()
            self._moment = time, self._moment[1]
            told = dict(zip(waited, self._moment[1].reasons(time, rows), strict=True))
            for i in here:
                if frame in promised[i]:
                    last[i] = frame
                words = told.get(i) or ("just came back" if columns[1][i] else "just came")
                text = "; ".join(filter(None, (words, promised[i].get(last[i], ""))))
                if not found[i] or found[i][-1][1] != text:
                    found[i].append((frame, text))
        return found

    def _hold_data(self, rows: Ints, at: dict[int, int], classes: ColourClasses) -> dict[str, list[Any]]:
        """Return holds; ``job`` is -1 for guests and earlier holds, ``places`` are ``[first core, last core]``."""
        holds = self._holds.iloc[rows]
        places: dict[int, list[list[int]]] = defaultdict(list)
        shown = self._places[self._places["owner"].isin(rows)]
        for owner, *cores in zip(*(shown[name].tolist() for name in shown), strict=True):
            places[owner].append(cores)
        return _plain(holds) | {
            "job": [at.get(row, -1) for row in holds["row"].tolist()],
            "colour": [-1 if row < 0 else int(classes.code[row]) for row in holds["row"].tolist()],  # -1: a guest
            "places": [places[row] for row in rows.tolist()],
        }

    @cached_property
    def _away(self) -> list[tuple[int, str, int, int]]:
        """Return (node, state, first frame, frame after the last) of nodes that cannot work."""
        table, platform = self._result.node_states, self._result.platform
        table = table[table["state"].isin(SHOWN_STATES)]
        node = platform.node_indices(table["node"]).tolist()
        # The frame after the decision that had a node boot at a time: (node, s) -> frame.
        booted: dict[tuple[int, float], int] = {}
        allocated, takes = self._holds["allocation_time"].to_numpy(), self._holds["takes"].to_numpy()
        late = np.flatnonzero((takes < NEVER) & ~(self._holds["start_time"].to_numpy() <= allocated))
        places = self._places[self._places["owner"].isin(late)]
        nodes = (np.searchsorted(self._first_core, places[name], "right") - 1 for name in ("first_core", "last_core"))
        for row, first, last in zip(places["owner"].tolist(), *(each.tolist() for each in nodes), strict=True):
            for booting in range(first, last + 1):
                booted.setdefault((booting, float(allocated[row])), int(takes[row]) + 1)

        def seen(time: pd.Series) -> list[int]:
            """Return the first frames with the nodes' new states: after decisions to boot the nodes, if any."""
            found = np.searchsorted(self.time, time).tolist()
            return [booted.get(key, frame) for key, frame in zip(zip(node, time, strict=True), found, strict=True)]

        # At the run's end nodes are in the state that lasted until then.
        after = np.where(table["end"] >= self._horizon, len(self), seen(table["end"])).tolist()
        rows = zip(node, table["state"].astype(str), seen(table["start"]), after, strict=True)
        return [row for row in rows if row[2] < row[3]]


def _plain(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table's columns for JavaScript: None for NaN and infinity, NEVER as a number that it holds exactly."""
    found = {}
    for name, column in table.items():
        if column.dtype.kind == "f":
            column = column.astype(object).where(np.isfinite(column), None)
        found[str(name)] = (np.minimum(column, 2**40) if column.dtype.kind == "i" else column).tolist()
    return found
