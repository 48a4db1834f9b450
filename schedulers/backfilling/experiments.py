"""EASY backfilling by its spec: the algorithm, or the class of the experiment on it that the options ask for."""

from __future__ import annotations

import math
from typing import Any, Literal

from cluster_sim.errors import SpecError
from cluster_sim.options import checked, options_of, spec_text
from schedulers.backfilling.backfilling import Backfilling, Reservation
from schedulers.backfilling.committed import Commits, CommittedEasy, TakesExtra
from schedulers.backfilling.conservative import ConservativeBackfilling
from schedulers.backfilling.easy import BackfillOrder, Depth, EasyBackfilling
from schedulers.backfilling.room import HOUR_S, EasyWithRoom, Room, RoomFor
from schedulers.backfilling.trials import TRIAL_S, EasyOnTrial, MostTrials, TrialFor
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import Aging, AnyJobOrder, AnyNodeOrder, Memory, first, platform_order


class EasyExperiments(EasyOnTrial, EasyWithRoom, CommittedEasy):
    """EASY with several experiments at once: each does what it does alone."""


@schedulers.register("easy")
@checked
def easy(
    order: AnyJobOrder = first,
    nodes: AnyNodeOrder = platform_order,
    depth: Depth | Literal["all"] = 1,
    backfill: BackfillOrder = None,
    reservation: Reservation = "counted",
    memory: Memory = False,
    aging: Aging = math.inf,
    commit: Commits = False,
    extra: TakesExtra = True,
    room: Room = 0.0,
    room_for: RoomFor = HOUR_S,
    trials: MostTrials = 0,
    trial_for: TrialFor = TRIAL_S,
) -> Backfilling:
    """EASY: order=saf sorts the queue, backfill=saf what is backfilled; depth=0,1,…,all; commit=yes; room=0.03; trials=1."""
    given = locals().copy()
    asked: dict[type[EasyBackfilling], dict[str, Any]] = {}
    if trials:
        asked[EasyOnTrial] = {"trials": trials, "trial_for": trial_for}
    if room:
        asked[EasyWithRoom] = {"room": room, "room_for": room_for}
    if commit or not extra:
        asked[CommittedEasy] = {"commit": commit, "extra": extra}
    if depth == "all":
        if aging < math.inf:
            raise _error("option aging", "no ageing with depth=all, where everybody is promised a start", aging)
        if asked:
            raise _error(
                "options commit, extra, room and trials", "a depth of 1, of whose one promise they speak", depth
            )
        return ConservativeBackfilling(order, nodes, reservation, memory)
    _check_together(depth, reservation, memory, commit, extra, room, trials)
    usual = order, nodes, depth, backfill, reservation, memory, aging
    if not asked:
        return EasyBackfilling(*usual)
    kind = EasyExperiments if len(asked) > 1 else next(iter(asked))
    experiment = kind(*usual, **{name: value for own in asked.values() for name, value in own.items()})
    experiment.spec = spec_text("easy", options_of(easy), given)
    return experiment


def _check_together(
    depth: int, reservation: str, memory: bool, commit: bool, extra: bool, room: float, trials: int
) -> None:
    """Check that the options of experiments go with the others. Raises SpecError."""
    if room and not extra:
        raise _error("option room", "extra=yes: beside the promised job others run", "extra=no")
    if trials and not extra:
        raise _error("option trials", "extra=yes", "extra=no")
    if trials and memory:
        raise _error("option trials", "promises of cores, without memory", "memory=yes")
    for name, asked in (("commit", commit), ("extra=no", not extra), ("room", room > 0.0), ("trials", trials > 0)):
        if asked and depth != 1:
            raise _error(f"option {name}", "a depth of 1, of whose one promise it speaks", depth)
        if asked and name in ("extra=no", "room") and (memory or reservation == "pinned"):
            raise _error(f"option {name}", "counted reservations without memory")


def _error(option: str, expected: str, *found: object) -> SpecError:
    return SpecError(f"scheduler 'easy', {option}", expected, *found)


@schedulers.register("saf-easy")
def saf_easy(
    nodes: AnyNodeOrder = platform_order,
    reservation: Reservation = "counted",
    memory: Memory = False,
    aging: Aging = math.inf,
) -> EasyBackfilling:
    """EASY whose queue keeps its order, but backfills the smallest area first (Casagrande et al. 2022)."""
    return EasyBackfilling(nodes=nodes, backfill="saf", reservation=reservation, memory=memory, aging=aging)
