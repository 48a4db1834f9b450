"""Small environments whose best policy is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

if TYPE_CHECKING:
    from learning.networks.network import Batch, Network


class CheapestRow(gym.Env[dict[str, np.ndarray], int]):
    """Some of the rows are allowed; taking one costs its first number. The best policy takes the least of them."""

    def __init__(self, rows: int = 6, features: int = 3, steps: int = 5):
        self.rows, self.features, self.steps = rows, features, steps
        self.action_space = spaces.Discrete(rows)
        self.observation_space = spaces.Dict(
            {
                "actions": spaces.Box(-1.0, 1.0, (rows, features), np.float32),
                "state": spaces.Box(0.0, 1.0, (1,), np.float32),
                "action_mask": spaces.MultiBinary(rows),
            }
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.left = self.steps
        return self._observe(), {}

    def step(self, action: int) -> Any:
        assert self.mask[action], "an action that is not allowed"
        reward = -float(self.values[action, 0])
        self.left -= 1
        return self._observe(), reward, self.left == 0, False, {"metrics": {"left": self.left}}

    def _observe(self) -> dict[str, np.ndarray]:
        self.values = self.np_random.uniform(-1.0, 1.0, (self.rows, self.features)).astype(np.float32)
        self.mask = np.zeros(self.rows, dtype=np.int8)
        allowed = self.np_random.integers(1, self.rows + 1)
        self.mask[self.np_random.permutation(self.rows)[:allowed]] = 1
        self.values[self.mask == 0] = 0.0
        state = np.array([self.left / self.steps], dtype=np.float32)
        return {"actions": self.values, "state": state, "action_mask": self.mask}


class Plain(gym.Env[dict[str, np.ndarray], int]):
    """One array and a mask that allows everything, unless told otherwise; a base for the tiny ones below."""

    actions = 2
    size = 1
    steps = 1

    def __init__(self) -> None:
        self.action_space = spaces.Discrete(self.actions)
        box = spaces.Box(-1.0, 1.0, (self.size,), np.float32)
        self.observation_space = spaces.Dict({"observation": box, "action_mask": spaces.MultiBinary(self.actions)})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return self.observe(), {}

    def step(self, action: int) -> Any:
        reward = self.reward(action)
        self.time += 1
        return self.observe(), reward, self.time == self.steps, False, {}

    def observe(self, *values: float) -> dict[str, np.ndarray]:
        observation = np.zeros(self.size, dtype=np.float32)
        observation[: len(values)] = values
        return {"observation": observation, "action_mask": np.ones(self.actions, dtype=np.int8)}

    def reward(self, action: int) -> float:
        raise NotImplementedError


class Bandit(Plain):
    """Three arms that pay 0.2, 0.5 and 0.8, and noise."""

    actions = 3

    def reward(self, action: int) -> float:
        return (0.2, 0.5, 0.8)[action] + float(self.np_random.normal(0.0, 0.1))


class Tempting(Bandit):
    """Two arms: one pays 1 and costs 1, the other neither; each a little noisy. With the cost limited to d, the best is d."""

    actions = 2

    def reward(self, action: int) -> float:
        return float(action) + float(self.np_random.normal(0.0, 0.1))

    def step(self, action: int) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated, truncated, info | {"cost": float(action)}


class Recall(Plain):
    """A sign is shown first and asked for last; nothing in between says what it was."""

    steps = 4

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.sign = int(self.np_random.integers(2))
        return self.observe(), {}

    def observe(self, *values: float) -> dict[str, np.ndarray]:
        return super().observe(2.0 * self.sign - 1.0 if self.time == 0 and hasattr(self, "sign") else 0.0)

    def reward(self, action: int) -> float:
        return float(action == self.sign) if self.time == self.steps - 1 else 0.0


class CutOff(Plain):
    """Pays 1 a step; the episode is cut off after as many steps as its seed says, or ends then if that is even."""

    def reward(self, action: int) -> float:
        return 1.0

    def observe(self, *values: float) -> dict[str, np.ndarray]:
        return super().observe(1.0 / (1.0 + self.time))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        assert seed is not None
        self.length = 1 + seed % 5
        return super().reset(seed=seed, options=options)

    def step(self, action: int) -> Any:
        observation, reward, *_ = super().step(action)
        over = self.time == self.length
        even = self.length % 2 == 0
        return observation, reward, over and even, over and not even, {}


def collated(network: Network, observations: Sequence[dict[str, np.ndarray]]) -> Batch:
    """The tensors of observations as environments give them."""
    return network.stack([network.keep(observation) for observation in observations])


@dataclass(frozen=True)
class Make:
    """Makes an environment; equal to another that makes the same, also in another process."""

    kind: type[gym.Env[Any, Any]]
    arguments: tuple[tuple[str, int], ...] = ()

    def __call__(self) -> Any:
        return self.kind(**dict(self.arguments))


ROWS = Make(CheapestRow)


def network_for(make: Make, spec: str, seed: int = 1) -> Network:
    """A network for what it makes."""
    from learning.networks.building import make_network

    environment = make()
    return make_network(spec, environment.observation_space, int(environment.action_space.n), seed=seed)
