"""Configurations and grids: what is refused, what wildcards mean, which cells there are, and their seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.sweep import Grid
from analysis.sweep.cell import inputs_of
from analysis.sweep.wildcards import schedulers_of
from cluster_sim import Workload
from cluster_sim.errors import InputError
from schedulers import job_orders, node_orders

from .conftest import SMALL


def grid_with(replications: int = 3, **factors: Any) -> Grid:
    """The small grid with other factors."""
    return Grid.of({"factors": SMALL["factors"] | factors, "replications": replications})


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"factors": {"workloads": "a.swf"}}, "sweep: factors: expected workload (the nearest known name), found workloads"),
        ({"factors": {"scheduler": "fcfs"}}, "sweep: factors: expected key 'workload'"),
        (SMALL | {"replication": 2}, "sweep: expected replications (the nearest known name), found replication"),
        (SMALL | {"replications": 0}, "sweep: replications: expected greater than or equal to 1, found 0"),
        (SMALL | {"replications": "3"}, "sweep: replications: expected a valid integer, found \"3\""),
        (SMALL | {"metrics": ["energy"]}, "sweep: metrics[0]: expected energy_j (the nearest known name), found energy"),
        (SMALL | {"outputs": {"gannt": 5}}, "sweep: outputs: expected gantt (the nearest known name), found gannt"),
        ({"factors": SMALL["factors"] | {"scheduler": []}}, "sweep: factors.scheduler: expected at least one entry"),
        ({"factors": SMALL["factors"] | {"load": [0]}}, "sweep: factors.load[0]: expected greater than 0, found 0"),
        ({"factors": SMALL["factors"] | {"workload": {"source": "a", "window": 0}}}, "sweep: factors.workload[0].window"),
        ({"factors": SMALL["factors"] | {"scheduler": "trained"}}, "train: expected both this section and the scheduler"),
        ({"factors": SMALL["factors"] | {"load": [1.0, 1.0]}}, "factors.load: expected different values"),
        (SMALL | {"replications": 2**63}, "replications: expected at most 1,099,511,627,776 runs in all"),
        (["factors"], "sweep: expected a sweep: keys such as 'factors' and 'replications', found list"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(document: Any, line: str) -> None:
    """Naming the key, what was expected and what was found."""
    from analysis.sweep.config import config_of

    with pytest.raises(InputError) as refused:
        Grid(config_of(document))
    text = str(refused.value)
    assert "\n" not in text
    assert text.startswith(line)


def test_every_pair_of_orders() -> None:
    """list:*/* is the product of the registries, list:smallest/* one row of it, with its options; nothing twice."""
    every = schedulers_of(["list:*/*", "easy", "list:smallest/*"])
    assert every == [f"list:{job}/{node}" for job in job_orders for node in node_orders] + ["easy"]
    assert schedulers_of(["list:small*/?irst,blocking=no"]) == ["list:smallest/first,blocking=no"]
    assert schedulers_of(["list:small*/?irst + timeout:60"]) == ["list:smallest/first + timeout:60"]
    assert schedulers_of(["fcfs", "contention-aware:metric=edp"]) == ["fcfs", "contention-aware:metric=edp"]
    with pytest.raises(InputError, match=r"a pattern that fits some order .*smallest.*, found x\*"):
        schedulers_of(["list:x*/first"])


def test_every_combination_once() -> None:
    """The cells are the product of all factors and replications, in an order that more replications only add to."""
    factors = {"load": [0.5, 1.0], "power_policy": ["always-on", "timeout:60"], "enforce_walltime": [False, True]}
    grid, longer = grid_with(**factors), grid_with(5, **factors)
    assert len(grid) == 3 * 2 * 2 * 2 * 2
    assert grid.combinations == 16
    chosen = ("seed", "load", "power_policy", "enforce_walltime", "scheduler")
    assert len({tuple(cell[key] for key in chosen) for cell in grid}) == len(grid)
    assert [cell["cell"] for cell in grid] == list(range(len(grid)))
    assert grid[:] == longer[: len(grid)]
    assert grid[-1] == grid[len(grid) - 1]
    with pytest.raises(IndexError):
        grid[len(grid)]


def test_cells_are_small_and_plain() -> None:
    """A cell is JSON, comes back the same, and is shorter than a kilobyte."""
    for cell in grid_with(load=[0.5, 2.0]):
        text = json.dumps(cell)
        assert json.loads(text) == cell
        assert len(text) < 1_000


def test_seeds_are_those_of_the_replication() -> None:
    """Seeds follow from SeedSequence as documented; every cell of a replication has the same, others have others."""
    grid = Grid.of(SMALL | {"seed": 7})
    for index in range(len(grid)):
        labels = grid.labels(index)
        replication = index // 2
        assert labels["replication"] == replication
        for kind, name in ((0, "workload_seed"), (1, "seed")):
            expected = np.random.SeedSequence(7, spawn_key=(kind, replication)).generate_state(1)[0]
            assert labels[name] == expected
        assert grid[index]["workload"]["source"] == f"lublin:jobs=10,nodes=8,seed={labels['workload_seed']}"
    drawn = [grid.seed(kind, r) for kind in range(3) for r in range(100)]
    assert len(set(drawn)) == len(drawn)


def test_a_written_seed_is_that_of_the_first_replication() -> None:
    """lublin:…,seed=5 is that workload in replication 0, and one that follows from it in the others."""
    grid = grid_with(workload=["lublin:jobs=10,nodes=8,seed=5", "lublin:jobs=10,nodes=8,seed=6"])
    sources = [cell["workload"]["source"] for cell in grid if cell["scheduler"] == "fcfs"]
    assert sources[:2] == ["lublin:jobs=10,nodes=8,seed=5", "lublin:jobs=10,nodes=8,seed=6"]
    second = np.random.SeedSequence([0, 5], spawn_key=(0, 1)).generate_state(1)[0]
    assert sources[2] == f"lublin:jobs=10,nodes=8,seed={second}"
    assert len(set(sources)) == 6


def log_of(path: Path, count: int) -> Path:
    """A log of jobs one second apart, job i running i + 1 seconds."""
    rows = [f"{i + 1} {i} -1 {i + 1} 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1" for i in range(count)]
    path.write_text("; MaxProcs: 8\n" + "\n".join(rows) + "\n")
    return path


def test_windows_of_a_log(tmp_path: Path) -> None:
    """A window is so many consecutive jobs from a job on that the replication's seed draws; loads pull it together."""
    log_of(tmp_path / "log.swf", 40)
    factors = SMALL["factors"] | {"workload": {"source": "log.swf", "window": 5}, "load": [1.0, 2.0]}
    grid = Grid.of({"factors": factors, "replications": 6}, tmp_path)
    starts = []
    for cell in grid:
        jobs = inputs_of(cell)[1].jobs
        start = int(np.random.default_rng(grid.labels(cell["cell"])["workload_seed"]).integers(40 - 5 + 1))
        assert jobs["recorded_run_time"].tolist() == [start + 1.0 + i for i in range(5)]
        assert jobs["submit_time"].tolist() == [i / cell["load"] for i in range(5)]
        starts.append(start)
    assert len(set(starts)) > 3
    assert starts[0] == starts[1] == starts[3]  # one replication
    cut = Grid.of({"factors": factors | {"workload": {"source": "log.swf", "slice": [10, 20], "first": 3}}}, tmp_path)
    assert inputs_of(cut[0])[1].jobs["recorded_run_time"].tolist() == [11.0, 12.0, 13.0]
    assert grid.labels(0)["workload"] == "log.swf, window 5"
    assert cut.labels(0)["workload"] == "log.swf, first 3, slice 10 to 20"
    both = [
        {"source": "log.swf", "window": 5, "think_times": True},
        {"source": "log.swf", "shake": 5, "name": "mine"},
        {"source": "log.swf", "shake": 5, "time_unit": "min"},
    ]
    named = Grid.of({"factors": factors | {"workload": both}}, tmp_path)
    assert named.factors["workload"] == ["log.swf, window 5, think_times", "mine", "log.swf, shake 5, time_unit min"]
    long = Grid.of({"factors": factors | {"workload": {"source": "log.swf", "window": 50}}}, tmp_path)
    with pytest.raises(InputError, match="window: expected at most 40 jobs, its length, found 50"):
        inputs_of(long[0])


def test_a_log_is_shaken_with_the_seed_of_the_replication(tmp_path: Path) -> None:
    """The same jobs for all schedulers of a replication, after they have been cut."""
    log_of(tmp_path / "log.swf", 40)
    factors = SMALL["factors"] | {"workload": {"source": "log.swf", "first": 20, "shake": 30}}
    grid = Grid.of({"factors": factors, "replications": 3}, tmp_path)
    seen = set()
    for cell in grid:
        times = inputs_of(cell)[1].jobs["submit_time"].tolist()
        seed = grid.labels(cell["cell"])["workload_seed"]
        assert times == Workload.read(tmp_path / "log.swf").first(20).shaken(30.0, seed).jobs["submit_time"].tolist()
        seen.add(tuple(times))
    assert len(seen) == 3


def test_the_platform_of_a_log(tmp_path: Path) -> None:
    """Without one it is as large as the log says."""
    log_of(tmp_path / "log.swf", 3)
    grid = Grid.of({"factors": {"workload": "log.swf"}}, tmp_path)
    assert inputs_of(grid[0])[0].core_count == 8
    assert grid.labels(0)["platform"] == "the log's"


def test_mapped_columns_are_the_workload(tmp_path: Path) -> None:
    """A workload that was written for mapping is the one that was read, header and all, and so are its parts."""
    from analysis.sweep import columns

    for source in (
        log_of(tmp_path / "log.swf", 20),
        "lublin:jobs=50,nodes=8,kind=mixed,estimates=tsafrir",
        "npb:jobs=9",
    ):
        workload = Workload.read(source)
        columns.write(workload, tmp_path / "mapped.arrow")
        again = columns.mapped(tmp_path / "mapped.arrow")
        assert again.jobs.equals(workload.jobs)
        assert again.jobs.dtypes.equals(workload.jobs.dtypes)
        for name in ("name", "header", "origin_s", "reference_gflops", "rebase", "think_times", "max_procs"):
            assert getattr(again, name) == getattr(workload, name)
        assert again.first(4).scale_load(2.0).jobs.equals(workload.first(4).scale_load(2.0).jobs)
    (tmp_path / "mapped.arrow").write_bytes(b"nothing")
    with pytest.raises(InputError, match="expected columns of a workload"):
        columns.mapped(tmp_path / "mapped.arrow")


@pytest.mark.parametrize(
    "spec", ["slurm:conf={0},accounts={0}", "easy:order=multifactor:conf={0},depth=2", "replay:{0}"]
)
def test_files_that_a_scheduler_names_are_looked_for_beside_the_sweep(tmp_path: Path, spec: str) -> None:
    """Workers may stand elsewhere: what they are told is absolute; the label stays as written."""
    factors = SMALL["factors"] | {"scheduler": [spec.format("study/a.file")]}
    grid = Grid.of({"factors": factors}, tmp_path)
    assert grid.labels(0)["scheduler"] == spec.format("study/a.file")
    assert grid[0]["scheduler"] == spec.format(tmp_path / "study/a.file")


def test_files_that_settings_of_a_training_name_are_looked_for_beside_the_sweep(tmp_path: Path) -> None:
    """Policies, inputs and whole sections; what the training's own configuration names lies beside that. Labels stay."""
    pytest.importorskip("torch")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "train.yaml").write_text(
        "{environment: {workload: jobs.swf}, warm_start: {teacher: 'old.py:Old'}}"
    )
    factors = SMALL["factors"] | {"scheduler": ["trained"]}
    settings = {"baselines": [["easy", "new.py:New"]], "environment.options": [{"power": "trace:a.csv"}]}
    validation = {"validation.workload": ["later.swf"], "limits": [{"mean_stretch": "0.5 of new.py:New"}]}
    train = {"config": "own/train.yaml", "settings": settings | validation}
    training = Grid.of({"factors": factors, "train": train}, tmp_path).training(0)
    assert training is not None
    document, at = training[1], tmp_path.resolve()
    assert document["baselines"] == ["easy", f"{at}/new.py:New"]
    assert document["environment"]["options"] == {"power": f"trace:{at}/a.csv"}
    assert document["limits"] == {"mean_stretch": f"0.5 of {at}/new.py:New"}
    assert document["validation"]["workload"] == f"{at}/later.swf"
    assert document["environment"]["workload"] == f"{at}/own/jobs.swf"
    assert document["warm_start"]["teacher"] == f"{at}/own/old.py:Old"
