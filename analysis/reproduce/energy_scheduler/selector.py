"""The Policy scheduler on experiment 1, as the public program of June 2023 ran it: which pair of orders it favours.

The thesis calls low_mem_ops–high_mem_bw the best heuristic, since this agent chose it (§4.1 and §4.2.1). It is the
actor-critic of Herrera et al. (2021) with 16 units and a learning rate of 0.5, and learns from one episode at a time.
"""

from __future__ import annotations

from functools import partial

from analysis.reproduce.agents import row_part
from analysis.reproduce.claims import MORE, Claim, Kind, Values
from analysis.reproduce.controls import UNTRAINED
from analysis.reproduce.energy_scheduler.lopez import JOBS, NODES
from analysis.reproduce.irmasim.favourites import CHANCE, favourite_claims, favourites
from analysis.reproduce.paper import AS_RUN, AgentRow, ComputedPart, ReproductionSetting

POLICIES = tuple(
    f"{'fcfs' if job == 'random' else job}/{'first' if node == 'random' else node}" for job in JOBS for node in NODES
)
"""The 36 pairs of the program, in its order. Its ``random`` leaves jobs and nodes in the order in which they come."""
_FILE = "experiment1-selector-as-run"
ROWS = (
    AgentRow("selector", "Policy scheduler for energy", (), (), _FILE, like="selector", reading=AS_RUN),
    AgentRow(
        "selector-edp",
        "Policy scheduler for EDP",
        (),
        (),
        f"{_FILE}-edp",
        _FILE,
        {"reward": "as-run:edp,program=2023"},
        like="selector",
        reading=AS_RUN,
    ),
)


def parts(paper: str, setting: ReproductionSetting) -> list[ComputedPart]:
    """Return a part for each objective."""
    return [
        part
        for row in ROWS
        for part in row_part(paper, row, setting, favourites, {"row": row.name, "most": dict(row.most)})
    ]


def claims(best: str) -> list[Claim]:
    """Return the claims: the favourite is the pair that the thesis calls the best, and it is a cheapest one."""
    found = []
    for row, metric in zip(ROWS, ("energy", "EDP"), strict=True):
        found += favourite_claims(row, metric, "§4.1", Kind.PAPER)
        found.append(
            Claim(f"{row.name}/printed", f"{row.what}: its favourite is {best.replace('/', '–')}", "50.0", "% of trainings",
                  "§4.2.1", partial(_favouring, f"agent/{row.name}/favourite", best), MORE, group=row.group,
                  controls={UNTRAINED: partial(_favouring, f"control/{row.name}/favourite/{UNTRAINED}", best),
                            CHANCE: lambda v: 100.0 / len(POLICIES)},
                  how="in more than half of the trainings; the thesis does not say how many it made")
        )  # fmt: skip
    return found


def _favouring(name: str, pair: str, values: Values) -> float:
    """Return the share of trainings that favour a pair, %."""
    chosen = [POLICIES[number] for number in values[name]]
    return 100.0 * chosen.count(pair) / len(chosen)
