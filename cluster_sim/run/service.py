"""Whom a policy serves: an object decides in one run at a time, since what it remembers is of that run."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from cluster_sim.errors import InputError
from cluster_sim.registry import describe

if TYPE_CHECKING:
    from cluster_sim.run.policies import OngoingRun

_served: WeakValueDictionary[int, OngoingRun] = WeakValueDictionary()  # by the id of each policy, which its run holds


def serve(policies: Mapping[str, object], run: OngoingRun, has_begun: bool) -> None:
    """Note that these policies, by what they are called, decide in a run from now on, or have since it began.

    Raises InputError for one that serves another run that is not over, or has served another since this one began.
    """
    for kind, policy in policies.items():
        if _served.get(id(policy)) is run:
            continue
        where = f"{kind} {describe(policy)}"
        if has_begun:
            raise InputError(where, "an object of this run alone: another run has begun with it since")
        if _is_at_work(policy):
            gc.collect()  # a run that nobody can go on with is none
            if _is_at_work(policy):
                expected = (
                    "an object that serves no other run, which one that is not over has: make an object for each run"
                )
                raise InputError(where, expected)
        _served[id(policy)] = run


def _is_at_work(policy: object) -> bool:
    other = _served.get(id(policy))
    return other is not None and not other.is_over and not other.has_failed
