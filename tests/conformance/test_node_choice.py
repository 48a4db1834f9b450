"""The node choices that a real Slurm was recorded to make, one by one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from cluster_sim.platform.node_choice import in_a_row, one_switch_or_all, under_few_switches
from cluster_sim.platform.switches import Switch, SwitchTree

NODES = 16


def tree_of(described: dict[str, Any]) -> SwitchTree:
    """The switches of a recorded topology: leaves in order, groups of these, and one switch above all."""
    ends = np.cumsum(described["leaves"]).tolist()
    leaves = [
        Switch(f"leaf{i}", tuple(range(end - size, end)))
        for i, (size, end) in enumerate(zip(described["leaves"], ends, strict=True))
    ]
    groups = [
        Switch(f"middle{i}", (), tuple(f"leaf{leaf}" for leaf in group)) for i, group in enumerate(described["middle"])
    ]
    if len(groups) > 1:
        groups.append(Switch("top", (), tuple(group.name for group in groups)))
    return SwitchTree([*leaves, *groups], [f"n{i}" for i in range(NODES)])


def test_every_recorded_choice(shared: Path) -> None:
    """In a row, under few switches, and over all of a dragonfly: 340 of 340."""
    recorded = json.loads((shared / "cases" / "network" / "placement-slurm.json").read_text())
    trees = {name: tree_of(each) for name, each in recorded["topologies"].items() if "leaves" in each}
    agree, of = Counter[str](), Counter[str]()
    for case in recorded["cases"]:
        name, wanted = case["topology"], case["want"]
        free = np.zeros(NODES, np.int64)
        free[case["free"]] = 1
        if name == "line":
            ranks = in_a_row(free, wanted)
        elif name.startswith("fly-"):
            ranks = one_switch_or_all(trees[name], free, wanted)
        else:
            ranks = under_few_switches(trees[name], free, wanted)
        of[name] += 1
        agree[name] += sorted(np.argsort(ranks, kind="stable")[:wanted].tolist()) == sorted(case["nodes"])
    assert agree == of
    assert agree.total() == 340
