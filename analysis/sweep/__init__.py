"""Many runs: a grid of platforms, workloads, schedulers, policies and seeds, on any ``concurrent.futures.Executor``.

::

    from analysis.sweep import Grid, sweep

    grid = Grid.of({"factors": {"workload": "lublin:jobs=200,nodes=64", "platform": "homogeneous:nodes=64,cores=1",
                                "scheduler": ["fcfs", "easy"]}, "replications": 5})
    outcome = sweep(grid, out="results", workers=4)
    outcome.runs()          # a DataFrame, one row per run, factors as columns

| module | holds |
|---|---|
| ``config`` | the keys of a configuration file |
| ``grid`` | cell i of the grid, worked out when it is asked for |
| ``wildcards`` | ``list:*/*`` spelt out |
| ``agents`` | trainings as factors |
| ``checks`` | what is wrong, before hours go into it |
| ``cell`` | what a worker does: a cell in, a row out |
| ``columns`` | workloads as files whose columns are mapped into memory |
| ``executors`` | processes of our own, and the serial one |
| ``runner`` | which cell is submitted when; what becomes of those whose worker died |
| ``manifest``, ``storage`` | the folder: what was asked for, and the rows |
| ``session`` | ``sweep`` itself |

Names load when they are first used: a worker that unpickles a function here loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.sweep.cell import run_cell as run_cell
    from analysis.sweep.grid import Grid as Grid
    from analysis.sweep.session import Outcome as Outcome
    from analysis.sweep.session import sweep as sweep
    from analysis.sweep.storage import read_runs as read_runs

_HOMES = {"Grid": "grid", "Outcome": "session", "read_runs": "storage", "run_cell": "cell", "sweep": "session"}
__all__ = ["Grid", "Outcome", "read_runs", "run_cell", "sweep"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"analysis.sweep.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
