"""Every line of sprio and sshare that was recorded comes out again, from the recorded starts and ends; and every limit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedulers.slurm.priority.multifactor import Multifactor
from tests.support import recordings
from tests.support.recordings import Recording

PERIOD_LATE_S = 0.25
"""A period's end is a little later than a whole number of minutes after the controller's start, by some 0.03 s each time."""
PARTS = ("age", "fairshare", "jobsize", "partition", "qos", "nice")
END, SUBMIT, ELIGIBLE, START, TESTED, SAMPLE = range(6)

ROWS = {
    "mf-1": (893, 288),
    "mf-2": (572, 264),
    "mf-3": (898, 264),
    "fair-tree": (456, 520),
    "fair-tree-2": (372, 550),
    "fair-classic": (316, 450),
    "qos-limits": (657, 504),
    "qos-limits-2": (357, 462),
    "qos-preempt": (49, 195),
    "mixed-1": (3, 390),
    "mixed-2": (16, 470),
}
"""How many lines of sprio and of sshare each run has; all of them come out."""


class Replay:
    """Tells the priorities what was recorded, in order of time, and compares what they say."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self.priorities = Multifactor(recording.slurm, recording.platform.core_count, recording.accounts)
        self.asks = {job: recordings.ask_of(key, found) for key, (job, found) in enumerate(recording.jobs.items())}
        self.waiting: dict[str, float] = {}
        self.equal: Counter[str] = Counter()
        self.unlike: list[Any] = []

    def run(self) -> None:
        """From the controller's start to the last sample."""
        self.priorities.begin(self.recording.expected["controller_started"] + PERIOD_LATE_S)
        for time, kind, what in sorted(self._events(), key=lambda event: event[:2]):
            self.priorities.advance(time)
            if kind == SUBMIT:
                self.priorities.submitted(self.asks[what], time)
                self.waiting[what] = time
            elif kind == ELIGIBLE:
                self.priorities.eligible(self.asks[what], time)
            elif kind == START:
                self._start(what, time)
            elif kind == END:
                self.priorities.ended(self.asks[what], time)
            elif kind == TESTED:
                self._test(what, time)
            else:
                self._compare(*what)

    def _events(self) -> Iterator[tuple[float, int, Any]]:
        for job, found in self.recording.jobs.items():
            yield from self._life(job, found)
            for time, reason in found.get("reasons", ()):
                if reason == "Resources":  # a pass has come as far as this job
                    yield time, TESTED, job
        for time in self.recording.plans["backfill_passes"]:
            yield time, TESTED, ""
        for name in ("sprio", "sshare"):
            for sample in self.recording.expected[name]:
                yield sample["t"], SAMPLE, (name, sample)

    def _life(self, job: str, found: dict[str, Any]) -> Iterator[tuple[float, int, Any]]:
        """A requeued job is submitted again when it ends, and is eligible two minutes later; the last attempt is exact."""
        attempts = found.get("attempts") or ([found] if found.get("start_exact") else [])
        yield found["submit"], SUBMIT, job
        yield (found["submit"] if len(attempts) > 1 else found["eligible"]) + 1e-3, ELIGIBLE, job
        for attempt in attempts[:-1]:
            yield attempt["start"] + 0.5, START, job
            yield attempt["end"] + 0.5, END, job
            yield attempt["end"] + 0.5, SUBMIT, job
            yield found["eligible"], ELIGIBLE, job
        if attempts:
            yield found["start_exact"], START, job
            if found.get("end_exact"):
                yield found["end_exact"], END, job

    def _start(self, job: str, time: float) -> None:
        found, names = self.recording.jobs[job], self.recording.slurm.node_names
        nodes = tuple(names.index(node) for node in found["nodes"])
        ask = self.asks[job]
        refusal = self.priorities.refusal(ask, time) or self.priorities.refusal_on(ask, nodes, found["cpus"], time)
        if refusal:
            self.unlike.append((time, job, "started", refusal))
        del self.waiting[job]
        self.priorities.started(ask, found["partition"], nodes, found["cpus"], time)

    def _test(self, only: str, time: float) -> None:
        """A pass tests jobs that wait and are within the limits that are looked at before; they were sent a moment before."""
        whole_nodes = self.recording.slurm.parameters["selecttype"] == "select/linear"
        for job, since in self.waiting.items():
            ask, found = self.asks[job], self.recording.jobs[job]
            if job == only or not only and since + 0.4 < time and not self.priorities.refusal(ask, time):
                self.priorities.tested(ask, 4 * ask.min_nodes if whole_nodes else found["cpus"])

    def _compare(self, name: str, sample: dict[str, Any]) -> None:
        compare = self._same_sprio if name == "sprio" else self._same_sshare
        for row in sample["jobs" if name == "sprio" else "rows"]:
            if compare(row):
                self.equal[name] += 1
            else:
                self.unlike.append((sample["t"], row))

    def _same_sprio(self, row: list[str]) -> bool:
        """Equal in the priority and in every part."""
        job, partition, *numbers = row
        if job not in self.waiting:
            return False
        parts = self.priorities.parts(self.asks[job], partition)
        told = [self.priorities.priority(self.asks[job], partition), *(round(parts[name]) for name in PARTS)]
        return told == [int(number) for number in numbers]

    def _same_sshare(self, row: str) -> bool:
        """Equal in all columns to six decimals; raw usage within 1."""
        account, user, _, norm, raw, effective, factor, level = (cell.strip() for cell in row.split("|"))
        shares = self.priorities.shares
        told = shares.sshare()
        here = next(i for i, a in enumerate(shares.accounts.associations) if (a.account, a.user) == (account, user))
        numbers = (told.norm_shares, told.effective_usage, told.factor, told.level_fs)
        printed = ["" if math.isnan(values[here]) else f"{values[here]:.6f}" for values in numbers]
        if "NO_FAIR_TREE" in self.recording.slurm.parameters.get("priorityflags", ""):
            printed[3] = "0.000000"  # there is no such thing
        return printed == [norm, effective, factor, level] and abs(shares.usage.totals()[here] - int(raw)) <= 1


@pytest.mark.parametrize("run", ROWS)
def test_every_line_of_sprio_and_sshare_comes_out(run: str, shared: Path, tmp_path: Path) -> None:
    """Priorities and each part of them, usage within 1, shares to six decimals; and no job starts over a limit."""
    replay = Replay(recordings.read(shared / "cases" / "slurm" / run, tmp_path))
    replay.run()
    assert (replay.unlike[:5], len(replay.unlike)) == ([], 0)
    assert (replay.equal["sprio"], replay.equal["sshare"]) == ROWS[run]
