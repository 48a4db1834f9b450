"""A progress bar for long runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event
    from tqdm import tqdm

    from cluster_sim.run.simulation import Simulation


def on_terminal() -> bool:
    """Whether there is a standard error, and it is a terminal: where bars are shown."""
    return sys.stderr is not None and sys.stderr.isatty()


def show_progress(simulation: Simulation) -> None:
    """Show on stderr how many jobs are over, if it is a terminal. The bar is a process that listens, like a user's own."""
    if not on_terminal():
        return
    from tqdm import tqdm

    bar = tqdm(total=len(simulation.workload), unit=" jobs", leave=False)
    simulation.env.process(_follow(simulation, bar))


def _follow(simulation: Simulation, bar: tqdm) -> Generator[Event, object, None]:
    while True:
        yield simulation.on("instant")
        bar.n = simulation.attempts.over
        bar.update(0)
        if bar.n >= len(simulation.workload):
            bar.close()
            return
