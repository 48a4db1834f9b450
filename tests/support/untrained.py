"""Agents that have learned nothing, for tests of what is done with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from learning.networks.building import make_network
from learning.training.agent import Agent
from learning.training.configuration import EnvironmentKeys
from learning.training.inputs import environment_on


def untrained(
    folder: Path, seed: int = 0, network: str = "scorer:hidden=8", score: float = 1.0, **options: Any
) -> Agent:
    """An agent with random weights, left in ``folder`` as a training leaves its best one."""
    keys = EnvironmentKeys(options={"num_jobs": 4} | options, observation="default" if "scorer" in network else "p2")
    environment = environment_on(keys, None)
    actions = int(environment.maker.action_space.n)
    weights = make_network(network, environment.observation_space, actions, seed).weights()
    facts = {"seed": seed, "score": score, "objective": "energy_j", "reduction": 0.0}
    agent = Agent(keys.model_dump(mode="json", exclude_none=True), network, weights, facts)
    agent.save(folder / "best")
    return agent
