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

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
