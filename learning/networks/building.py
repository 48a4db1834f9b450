"""Networks made from their specs."""

from __future__ import annotations

from typing import Any

import torch

from cluster_sim.errors import InputError
from learning.networks.network import MASK, Network, networks


def make_network(spec: str, observation_space: Any, action_count: int, seed: int | None = None) -> Network:
    """Build the network of a spec such as ``scorer:hidden=32``.

    Args:
        spec: a name in ``networks`` and its options.
        observation_space: the ``gymnasium.spaces.Dict`` of the environment; its key ``action_mask`` has A entries.
        action_count: A, the number of actions.
        seed: of the initial weights; torch's generator is left as it was. Without it the weights are drawn from torch's.

    Raises SpecError for unknown names and options, InputError where the observations do not suit the network.
    """
    from learning.networks import published_networks, scorer  # noqa: F401 - they register themselves

    build = networks.make(spec)
    if MASK not in getattr(observation_space, "spaces", ()):
        raise InputError(f"network '{spec}'", f"observations by name, {MASK} among them: flat=False", observation_space)
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        network = build(observation_space, action_count)
    network.spec = spec
    return network
