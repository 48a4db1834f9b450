"""The agents of IRMaSim's Figs. 10 and 11, which choose one of four policies: what they end with, and how soon."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from analysis.reproduce.agents import AgentRow
from analysis.reproduce.paper import Measured
from analysis.reproduce.trainings import Training, train_first

TRAINING = "irmasim-selection"
BASELINE = {"contention_model": "none", "power_model": "baseline"}
ROWS = (
    AgentRow("contention", "agent that chooses a policy, contention model", (), (), TRAINING),
    AgentRow("baseline", "agent that chooses a policy, baseline", (), (), f"{TRAINING}-baseline", TRAINING, BASELINE),
)
POLICIES = tuple(f"list:first/{node}" for node in ("high_gflops", "high_cores", "high_mem_bw", "low_power"))


def converged(inputs: Path, row: str, folder: str, written: int, training: Mapping[str, Any] | None) -> Measured:
    """Whether agents end with the cheapest policy's energy, and after how many episodes they are near it.

    Near is where the mean of a rollout is at most 1 % above it; an agent that never is counts with all of its episodes. The
    papers show one training each, so what counts is most of ours: that the median training ends with that energy. How many
    of them do is told beside it; episodes are means over them.
    """
    import pandas as pd

    from learning.agent import Agent, find_agents
    from learning.evaluation import GREEDY, cases_of, evaluate

    start = f"agent/{row}/"
    found = train_first(start, inputs, folder, Training.of(training))
    agents = find_agents(folder)
    cases = cases_of(folder, str(Agent.load(agents[0]).environment["workload"]))
    tested = evaluate(folder, cases, ("energy_j",), POLICIES, runs=1, workers=1)
    cheapest = float(tested.heuristics["energy_j"].min())
    reached = tested.runs.loc[tested.runs["mode"] == GREEDY, "energy_j"]
    episodes = []
    for agent in agents:
        log = pd.read_csv(agent.parent / "metrics.csv").dropna(subset=["rollout/objective_mean"])
        near = log[log["rollout/objective_mean"] <= 1.01 * cheapest]
        episodes.append(float((near if len(near) else log.tail(1))["time/total_episodes"].iloc[0]))
    found.values |= {
        f"{start}above the cheapest": 100.0 * (float(reached.mean()) / cheapest - 1.0),
        f"{start}cheapest": float(reached.median()) <= 1.001 * cheapest,
        f"{start}share at the cheapest": 100.0 * float((reached <= 1.001 * cheapest).mean()),
        f"{start}episodes": mean(episodes),
    }
    found.runs = len(tested.runs) + len(tested.heuristics)
    return found
