"""Checks of a sweep before hours go into it: every value of every factor is tried once, without jobs."""

from __future__ import annotations

from pathlib import Path

from analysis.sweep.cell import inputs_of, read_workload, simulation_of
from analysis.sweep.columns import write
from analysis.sweep.grid import DECIDERS, Grid, source_key
from analysis.sweep.statuses import TRAINED
from cluster_sim.errors import InputError, naming
from cluster_sim.records.assumptions import merged, of_simulation
from cluster_sim.run.making import try_begin
from cluster_sim.run.settings import SETTINGS

_STAND_INS = {name: SETTINGS[name].default for name in DECIDERS}


def check(grid: Grid) -> list[str]:
    """Read every input, make every scheduler, policy and model of a grid, and begin a run without jobs of each.

    One factor is varied at a time; the others keep their first value. Agents that are still to be trained have
    stand-ins. Raises InputError for the first wrong input. Rows will tell, with a traceback, what else goes wrong as a
    run begins. Returns what these runs will assume (:mod:`cluster_sim.records.assumptions`), a line for each kind.
    """
    assumed: dict[object, list[str]] = {}
    with naming(grid.source):
        # The first cell, and for each other value of each factor the first cell that has it.
        cells, stride = [grid[0]], grid.combinations
        for size in grid.sizes:
            stride //= size
            cells += [grid[stride * place] for place in range(1, size)]
        for cell in cells:
            others = {name: spec for name, spec in _STAND_INS.items() if cell[name] == TRAINED}
            known = cell | others | {"agent": None}
            simulation = simulation_of(known, empty=True)
            # Hundreds of schedulers may share a log of a million jobs: only whether they respect memory matters here.
            inputs = str([known[name] for name in ("workload", "load", "platform", "power_model", "power_policy")])
            key = inputs, simulation.scheduler is not None and simulation.scheduler.memory
            if key not in assumed:
                assumed[key] = of_simulation(simulation, inputs_of(known)[1])
            try:
                try_begin(simulation)
            except InputError:
                raise
            except Exception:
                continue  # the rows will tell it
    return merged(assumed.values())


def share_workloads(grid: Grid, folder: Path) -> dict[str, str]:
    """Write every workload that comes from a file where workers can map it into memory.

    Returns the written file of each source and its options, by their :func:`source_key`.
    """
    found: dict[str, str] = {}
    for says in grid.files():
        key = source_key(says)
        path = folder / "workloads" / f"{key}.arrow"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write(read_workload(says), path)
        found[key] = str(path)
    return found
