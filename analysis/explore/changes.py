"""Changes that a user makes to the workload of a run in the page: jobs of one's own, and jobs that are taken out.

They are part of a run's description, as its window is: the run is made again with them, from the beginning. It is the
same up to the first change, unless its scheduler looks ahead or draws at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from cluster_sim.errors import InputError
from cluster_sim.workload.dependencies import without_absent
from cluster_sim.workload.job_table import as_columns, take
from cluster_sim.workload.workload import Workload

MOST_CHANGES = 50
LONGEST_TEXT = 100
LARGEST = 2**53
OWN = "own"
"""Beginning of the ids of submitted jobs."""


@dataclass(frozen=True, slots=True)
class Change:
    """A job that is submitted (``cancel`` False) or taken out; of the latter only ``job_id`` counts.

    Times in s on the run's clock; ``requested_time`` None: it names none.
    """

    job_id: str
    cancel: bool = False
    submit_time: float = 0.0
    cores: int = 1
    run_time: float = 0.0
    requested_time: float | None = None
    user: str = ""

    @classmethod
    def submission(cls, job_id: str, submit: Any, cores: Any, run_time: Any, requested: Any, user: Any) -> Change:
        """Return a job as the page's fields give it. Raises InputError for a wrong value."""
        if isinstance(cores, bool) or not isinstance(cores, int) or not 1 <= cores < LARGEST:
            raise InputError("own job, cores", "a whole number from 1", _found(cores))
        asked = None if requested in (None, "") else _time("time asked for", requested, above_0=True)
        return cls(
            _text("own job, id", job_id, least=1),
            False,
            _time("submitted at", submit),
            cores,
            _time("run time", run_time),
            asked,
            _text("own job, user", user or ""),
        )

    @classmethod
    def of(cls, given: Any) -> Change:
        """Return a change as :meth:`plain` wrote it.

        It comes from a page that is not to be trusted. Raises InputError.
        """
        if not isinstance(given, Mapping) or not isinstance(given.get("cancel"), bool):
            raise InputError("changes", "jobs that are submitted or cancelled", type(given).__name__)
        if given["cancel"]:
            return cls(_text("cancel, job", given.get("job_id"), least=1), True)
        names = ("job_id", "submit_time", "cores", "run_time", "requested_time", "user")
        values: list[Any] = [given.get(name) for name in names]
        return cls.submission(*values)

    def plain(self) -> dict[str, Any]:
        """Return the change as the page keeps it."""
        return asdict(self)


def changes_of(given: Any) -> tuple[Change, ...]:
    """Return changes as a page sends them. Raises InputError for a wrong one, and for too many."""
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise InputError("changes", "a list", type(given).__name__)
    if len(given) > MOST_CHANGES:
        raise InputError("changes", f"at most {MOST_CHANGES}: undo some", len(given))
    return tuple(map(Change.of, given))


def changed(workload: Workload, changes: Sequence[Change]) -> Workload:
    """Return ``workload`` without the jobs that are cancelled, and with those that are submitted.

    As in every part of a workload, a job no longer waits for one that was left out. Raises InputError for a job to
    cancel that is not there.
    """
    if not changes:
        return workload
    cancelled = [change.job_id for change in changes if change.cancel]
    known = set(workload.jobs["job_id"])
    for job_id in cancelled:
        if job_id not in known:
            raise InputError("cancel, job", "the id of a job of this workload", job_id)
    stays = ~workload.jobs["job_id"].isin(cancelled).to_numpy()
    left = pd.DataFrame(without_absent(take(as_columns(workload.jobs), np.flatnonzero(stays))))
    own = [change for change in changes if not change.cancel]
    if own:
        columns = {
            "job_id": [each.job_id for each in own],
            "submit_time": [each.submit_time for each in own],
            "requested_cores": [each.cores for each in own],
            "recorded_run_time": [each.run_time for each in own],
            "requested_time": [math.inf if each.requested_time is None else each.requested_time for each in own],
            "user": [each.user for each in own],
        }
        left = pd.concat([left, Workload(columns, "own jobs").jobs], ignore_index=True)
    other = Workload(
        left, workload.name, workload.origin_s, workload.header, workload.reference_gflops, workload.rebase
    )
    return other.with_think_times() if workload.think_times else other


def new_id(taken: Iterable[str]) -> str:
    """Return an id for a job of one's own: own1, or the first such that is free."""
    used = set(taken)
    return next(f"{OWN}{i}" for i in range(1, len(used) + 2) if f"{OWN}{i}" not in used)


def _time(what: str, value: Any, above_0: bool = False) -> float:
    wanted = f"a number of seconds {'above 0' if above_0 else 'from 0'}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"own job, {what}", wanted, _found(value))
    if not 0 <= value < LARGEST or (above_0 and not value):
        raise InputError(f"own job, {what}", wanted, value)
    return float(value)


def _text(what: str, value: Any, least: int = 0) -> str:
    if not isinstance(value, str) or not least <= len(value) <= LONGEST_TEXT:
        raise InputError(what, f"a text of {least} to {LONGEST_TEXT} characters", _found(value))
    if not value.isprintable():
        raise InputError(what, "characters that can be printed", value)
    return value


def _found(value: Any) -> Any:
    return "none" if value in (None, "") else value
