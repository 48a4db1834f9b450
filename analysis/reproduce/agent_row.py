"""A row of a paper's table of agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.reproduce.claims import Kind

OUR_AGENTS = "our default agents beside the published ones: they have other observations, rewards and trainings"
PUBLISHED_AGENTS = "agents as published: their observation, networks, reward and hyper-parameters"
"""Groups of claims: whether our default agent does better than what is printed, and what theirs reaches, trained here."""

IN_SAMPLE = "in-sample: tested on the jobs that they were trained on"
OUT_OF_SAMPLE = "out-of-sample: tested on jobs that they were not trained on"
"""What the heading of such a group also says."""


@dataclass(frozen=True)
class AgentRow:
    """A row of a paper's table of agents.

    Attributes
    ----------
    name : of its folder.
    what : for people.
    cases : names of the inputs it is tested on; what they are the paper's module says.
    against : specs of the schedulers (or power policies) that it is compared with.
    training : name of its training, and of the folder that it is left in.
    file : file in ``examples/training`` that says how, without its ending; the training's name unless given.
    environment : keys of its environment in place of the file's.
    like : name of the row that the paper prints, where this is another agent in its place; "": it is that row.
    most : keys of the configuration of which there are at most so many, whatever the file says: seeds.
    out_of_sample : whether it is tested on jobs that it was not trained on.
    rule : spec of a scheduler that learns nothing, for what learning adds to it; "" for none.
    """

    name: str
    what: str
    cases: tuple[str, ...]
    against: tuple[str, ...]
    training: str
    file: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    like: str = ""
    most: Mapping[str, int] = field(default_factory=dict)
    out_of_sample: bool = False
    rule: str = ""

    @property
    def printed(self) -> str:
        """Return the name under which a paper's module has the published numbers."""
        return self.like or self.name

    @property
    def group(self) -> str:
        """Return the group of its claims.

        The heading says whether agents are tested on the jobs that they were trained on.
        """
        agents = PUBLISHED_AGENTS if self.like else OUR_AGENTS
        return f"{agents}; {OUT_OF_SAMPLE if self.out_of_sample else IN_SAMPLE}"

    @property
    def kind(self) -> Kind:
        """Return what its claims are about."""
        return Kind.PAPER if self.like else Kind.OUR_AGENT
