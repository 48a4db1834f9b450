"""Decision-makers of environments, and decisions that are computed while earlier ones are carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from gymnasium import spaces

from cluster_sim.run.decisions import Decision, PowerDecision
from cluster_sim.run.view import View

Observation = dict[str, np.ndarray]
MOST_JOBS = 100_000
"""Number of jobs that an agent can be made to choose from, at the most."""


class DecisionMaker(Protocol):
    """Protocol of what asks an agent and turns its actions into decisions. To write one, write all of these.

    A pass of it, in an environment as in a scheduler that an agent has become::

        carry out maker.attend(view)
        while maker.goes_on(view):
            action = agent(maker.observe(view))
            carry out maker.decisions(view, action)
    """

    kind: Literal["scheduler", "power", "both"]  #: Whose decisions these are.
    memory: bool  #: Whether what it starts respects the nodes' memory.
    observation_space: spaces.Dict
    action_space: spaces.Discrete
    # ``on_any_machine = True``, if observations and actions are the same on every machine: then episodes may be of several.
    #: Names of the columns by part of the observation, for messages; other columns are numbered.
    feature_names: Mapping[str, Sequence[str]]

    def begin(self, view: View) -> None:
        """Begin a run, and forget everything about the last one."""
        ...

    def attend(self, view: View) -> Sequence[Decision | PowerDecision]:
        """Begin a pass: take note of changes, and return decisions that leave no choice, to be carried out."""
        ...

    def goes_on(self, view: View) -> bool:
        """Return whether there is something to decide now: asked at a pass's beginning, and after each decision."""
        ...

    def observe(self, view: View) -> Observation:
        """Return the observation with ``action_mask`` (int8, 1: allowed), in which at least one action is allowed."""
        ...

    def decisions(self, view: View, action: int) -> Sequence[Decision | PowerDecision]:
        """Return the decisions of an allowed action, to be carried out before anything else is asked."""
        ...


class OneByOne:
    """Decisions, each of which is computed after the one before has been carried out."""

    def __init__(self, decisions: Iterator[Decision]):
        self._decisions = decisions

    def __iter__(self) -> Iterator[Decision]:
        return self._decisions
