"""A SimPy process that looks at its own simulation now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster_sim.records.result import Result
from cluster_sim.run.simulation import Simulation

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

FRAME_S = 0.5
"""Seconds of the clock on the wall between two looks, at least."""
SHARE = 4.0
"""How many times a look's own seconds the simulation then has for itself."""


def watching(simulation: Simulation, show: Callable[[Result, float], None], pace: float | None) -> ProcessGenerator:
    """Hand the records up to now, and the time (s), to ``show``, again and again, and hold the run back to a pace: a process.

    ``pace`` is the number of simulated seconds that pass in a second, at most; None: as many as can. The process looks
    at the records and changes nothing. It ends when nothing else is left to happen.
    """
    env = simulation.env
    began, first, due = time.monotonic(), env.now, 0.0
    while True:
        if pace is None:
            yield simulation.on("instant")
        else:
            if math.isinf(env.peek()):
                return
            yield env.timeout(FRAME_S * pace)
        now = time.monotonic()
        if now >= due:
            show(simulation.result(), env.now)
            took = time.monotonic() - now
            due = now + took + max(FRAME_S / 2, SHARE * took)
        if pace is not None:
            time.sleep(max(0.0, (env.now - first) / pace - (time.monotonic() - began)))
