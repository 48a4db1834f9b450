"""What happened to a job between its start and its end, in plain words: suspensions, changes of its cores, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cluster_sim.amounts import lasting
from cluster_sim.errors import counted
from cluster_sim.machine.course import Doing
from cluster_sim.records.reasons.spells import MOVED, RESIZED, SUSPENDED, Spell

if TYPE_CHECKING:
    import pandas as pd

    from cluster_sim.records.contracts import RunRecords

SHOWN_CHANGES = 20
"""Suspensions and changes of an attempt that are told before the rest is counted."""


class JobStory:
    """One job of a result, by its row."""

    def __init__(
        self,
        result: RunRecords,
        row: int,
        reasons: Callable[[float, float], list[str]],
        nodes: Callable[..., str],
        at: Callable[[float], str],
    ):
        self._result = result
        self._row = row
        self._id = str(result.jobs["job_id"].iloc[row])
        self._reasons = reasons  #: Why it waited between two times (s), in lines;
        self._nodes = nodes  #: rows of a table of holds in words;
        self._at = at  #: times (s).
        self._horizon = float(result.power["time"].iloc[-1])
        stages, decisions = result.stages, result.decisions
        self._stages: list[dict[Any, Any]] = stages[stages["job_id"] == self._id].to_dict("records")
        self._decisions = decisions[(decisions["job_id"] == self._id)]
        self.spells = result.all_spells.of(row)
        #: True if there is anything to tell within an attempt.
        self.within = any(spell.then in (SUSPENDED, RESIZED, MOVED) for spell in self.spells)

    def where(self, attempt: int, first: bool = False) -> pd.DataFrame:
        """Return the cores of an attempt, or those that it had ``first``."""
        holds = self._result.holds
        mine = holds[(holds["kind"] == "job") & (holds["owner"] == self._id) & (holds["attempt"] == attempt)]
        return mine[mine["start"] == mine["start"].min()] if first else mine

    def began(self, attempt: int) -> list[str]:
        """Say from where an attempt that is not the first went on."""
        earlier = [stage for stage in self._made() if stage["attempt"] < attempt]
        if attempt == 1 or not earlier:
            return [] if attempt == 1 else ["It began anew."]
        last = earlier[-1]
        took = [s for s in self._stages if s["attempt"] == attempt and s["stage"] == Doing.RESTART]
        restart = f"; to restart took {lasting(took[0]['end'] - took[0]['start'])}" if took else ""
        saved = f"{100 * last['saved']:.3g} % of its work"
        return [f"It went on from its checkpoint of {self._at(last['end'])}, with {saved}{restart}."]

    def checkpoints(self, attempt: int) -> list[str]:
        """Say how many checkpoints an attempt made."""
        own = [stage for stage in self._made() if stage["attempt"] == attempt]
        if not own:
            return []
        took = sum(stage["end"] - stage["start"] for stage in own)
        last = f"{'at' if len(own) == 1 else 'the last at'} {self._at(own[-1]['end'])}"
        return [
            f"It made {counted(len(own), 'checkpoint')}, {lasting(took)}{' in all' if len(own) > 1 else ''}, {last}."
        ]

    def _made(self) -> list[dict[Any, Any]]:
        """Return the checkpoints that were done: each holds more of the work than those before."""
        made, saved = [], 0.0
        for stage in self._stages:
            if stage["stage"] == Doing.CHECKPOINT and stage["saved"] > saved:
                made.append(stage)
                saved = stage["saved"]
        return made

    def changes(self, attempt: int) -> Iterator[str]:
        """Say what ended the pieces of an attempt, but for the last."""
        own = [spell for spell in self.spells if spell.attempt == attempt]
        pairs = [(one, own[i + 1] if i + 1 < len(own) else None) for i, one in enumerate(own)]
        told = [(one, after) for one, after in pairs if one.then in (SUSPENDED, RESIZED, MOVED)]
        for spell, after in told[:SHOWN_CHANGES]:
            yield from self._suspended(spell, after) if spell.then == SUSPENDED else self._changed(spell, after)
        left = len(told) - SHOWN_CHANGES
        if left > 0:
            yield f"{counted(left, 'more change')} of its cores followed."

    def _suspended(self, spell: Spell, after: Spell | None) -> Iterator[str]:
        until = min(spell.until, self._horizon)
        why = self.taken_for(spell.start, spell.end)
        end = f"to {self._at(until)} ({lasting(until - spell.end)})" if spell.until < math.inf else "on"
        yield f"It was suspended from {self._at(spell.end)} {end}{why}."
        if until > spell.end:
            yield from self._reasons(spell.end, until)
        if after is not None and until < after.start <= self._horizon:
            yield f"Its nodes had to boot, so it went on at {self._at(after.start)}."
        if after is not None and after.cores != spell.cores:
            yield f"It went on with {counted(after.cores, 'core')} in place of {spell.cores}."

    def _changed(self, spell: Spell, after: Spell | None) -> Iterator[str]:
        assert after is not None
        rows = self._decisions
        rows = rows[(rows["decision"] == "resize") & (rows["time"] <= after.start) & (rows["time"] >= spell.start)]
        because = f": {rows['because'].iloc[-1]}" if len(rows) and rows["because"].iloc[-1] else ""
        own = [one for one in self.spells if one.attempt == after.attempt and one.start >= after.start]
        # What is left after a suspension is done first when it goes on; another change comes after it.
        until = next((one.end for one in own if one.then in (RESIZED, MOVED)), math.inf)
        took = [
            stage["end"] - stage["start"]
            for stage in self._stages
            if stage["stage"] == Doing.RECONFIGURATION
            and stage["attempt"] == after.attempt
            and after.start <= stage["start"] < until
        ]
        lasted = f", which took {lasting(sum(took))}" if took else ""
        if len(took) > 1:  # the job was suspended meanwhile
            lasted += f" in {len(took)} pieces"
        if spell.then == RESIZED:
            what = f"changed from {spell.cores:,} to {counted(after.cores, 'core')}"
        elif self._cores_of(spell) != self._cores_of(after):
            what = "moved to other cores"
        else:
            what = "was given the cores that it had"
        yield f"At {self._at(after.start)} it {what}{lasted}{because}."

    def _cores_of(self, spell: Spell) -> set[tuple[str, str, int]]:
        """Return the cores that the job had in a spell, each as node, processor and number."""
        held = self.where(spell.attempt)
        held = held[(held["start"] == spell.start) & ((held["end"] > held["start"]) | (spell.end == spell.start))]
        columns = (held[name].tolist() for name in ("node", "processor", "first_core", "last_core"))
        return {
            (node, processor, core)
            for node, processor, first, last in zip(*columns, strict=True)
            for core in range(first, last + 1)
        }

    def gave_up(self, time: float) -> list[str]:
        """Return the other jobs that were suspended then (s), or went on with fewer cores."""
        ids, all_spells = self._result.jobs["job_id"], self._result.all_spells
        jobs = []
        for row in sorted({*all_spells.ran, *all_spells.booted} - {self._row}):
            spells = all_spells.of(row)
            for i, spell in enumerate(spells):
                shrinks = spell.then == RESIZED and spells[i + 1].cores < spell.cores
                if spell.end == time and (spell.then == SUSPENDED or shrinks):
                    jobs.append(str(ids.iloc[row]))
                    break
        return jobs

    def taken_for(self, since: float, time: float) -> str:
        """Say for whom cores had since then were taken at ``time`` (s): `` for job b: an urgent job came``; or ""."""
        since = max((spell.start for spell in self.spells if spell.end <= time), default=since)
        behind, because = self._result.waits.preempted(self._row, since, time)
        return f"{f' for job {behind}' if behind else ''}{f': {because}' if because else ''}"
