"""What decides in an environment, and decisions that are worked out while earlier ones are carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from gymnasium import spaces

from cluster_sim.run.decisions import Decision, PowerDecision
from cluster_sim.run.view import View

Observation = dict[str, np.ndarray]


class DecisionMaker(Protocol):
    """Puts questions to an agent and turns its answers into decisions. To write one, all of these.

    A pass of it, in an environment as in a scheduler that an agent has become::

        carry out maker.attend(view)
        while maker.goes_on(view):
            action = agent(maker.observe(view))
            carry out maker.decisions(view, action)
    """

    kind: Literal["scheduler", "power"]  #: Whose decisions these are.
    memory: bool  #: Whether what it starts respects the nodes' memory.
    observation_space: spaces.Dict
    action_space: spaces.Discrete
    # ``on_any_machine = True``, if observations and actions are the same on every machine: then episodes may be of several.
    #: Of parts of the observation, for messages; those without are numbered.
    feature_names: Mapping[str, Sequence[str]]

    def begin(self, view: View) -> None:
        """A run begins; forget everything about the last one."""
        ...

    def attend(self, view: View) -> Sequence[Decision | PowerDecision]:
        """A pass begins: take note of what is new. What comes back leaves no choice, and is to be carried out."""
        ...

    def goes_on(self, view: View) -> bool:
        """Whether there is something to decide now: at the beginning of a pass, and again after each decision."""
        ...

    def observe(self, view: View) -> Observation:
        """What the agent sees, ``action_mask`` (int8, 1: allowed) among it; never is all of that 0."""
        ...

    def decisions(self, view: View, action: int) -> Sequence[Decision | PowerDecision]:
        """What an allowed action means; to be carried out before anything else is asked."""
        ...


class OneByOne:
    """Decisions that are worked out while the ones before are carried out."""

    def __init__(self, decisions: Iterator[Decision]):
        self._decisions = decisions

    def __iter__(self) -> Iterator[Decision]:
        return self._decisions
