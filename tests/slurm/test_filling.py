"""Nodes for jobs that fill all of theirs: without the search over runs and with it, they are the same."""

from unittest.mock import patch

import numpy as np
import pytest

from schedulers.slurm.job_request import Ask
from schedulers.slurm.selection.best_fit import Shape, choose
from schedulers.slurm.selection.filling import longest_runs
from schedulers.slurm.selection.node_holder import NodeHolder
from schedulers.slurm.selection.node_sets import set_of
from schedulers.slurm.selection.nodes import FreeCpus, NodeFacts

CPUS = 4


def random_free(rng: np.random.Generator, nodes: int) -> FreeCpus:
    """Nodes of which some are empty, some full, and some hold small jobs."""
    free = FreeCpus(NodeFacts([CPUS] * nodes))
    held = rng.choice(CPUS + 1, nodes, p=[0.6, 0.05, 0.1, 0.05, 0.2])
    ask = Ask(0, "0")
    for node in np.flatnonzero(held).tolist():
        free.take(NodeHolder(ask, (node,), (held.item(node),), (0.0,), 0.0, 1.0))
    return free


@pytest.mark.parametrize("per_task", [1, 2])
def test_same_nodes_as_the_search(per_task: int) -> None:
    """What is taken on 60 random machines, by jobs of 1 to 13 nodes."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60):
        free = random_free(rng, 40)
        within = set_of(np.flatnonzero(rng.random(40) < 0.9).tolist())
        for wanted in (1, 2, 3, 5, 8, 13):
            tasks = wanted * CPUS // per_task
            ask = Ask(1, "1", min_nodes=wanted, tasks=tasks, cpus_per_task=per_task)
            shape = Shape(ask, whole_nodes=False)
            assert shape.fills_nodes(free.facts)
            ours = choose(shape, free, within)
            with patch.object(Shape, "fills_nodes", return_value=False):
                searched = choose(shape, free, within)
            assert (ours is None) == (searched is None)
            if ours is not None and searched is not None:
                found += 1
                assert (ours.nodes, ours.cpus, ours.memory) == (searched.nodes, searched.cpus, searched.memory)
    assert found > 200


def test_capacities_are_known_by_all_that_they_depend_on() -> None:
    """Nodes of 8 CPUs and 12 MB: with 2 MB for each CPU 6, in units of 4 then 4; 3 at the most 3, whatever was asked before."""
    free = FreeCpus(NodeFacts([8, 8], memory=[12.0, 12.0]))
    asked = [((0.0, 1, 0), 8), ((0.0, 1, 3), 3), ((2.0, 1, 0), 6), ((2.0, 4, 0), 4), ((2.0, 1, 3), 3), ((0.0, 1, 5), 5)]
    for _ in range(2):
        assert [free.capacities(*asks).of.tolist() for asks, _ in asked] == [[cpus, cpus] for _, cpus in asked]


def test_longest_runs() -> None:
    """Runs of 1, 6, 1 and 6 nodes: the longest begin where they begin; of longer ones than are wanted every beginning counts."""
    nodes = set_of([0, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17])
    assert longest_runs(nodes, 10) == (set_of([2, 12]), 6)
    assert longest_runs(nodes, 5) == (set_of([2, 3, 12, 13]), 5)
    assert longest_runs(set_of([3, 8]), 4) == (set_of([3, 8]), 1)
