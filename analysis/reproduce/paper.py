"""What the module of a paper declares: parts to compute, claims to judge, figures to draw, agents to train."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from typing_extensions import Doc

from analysis.reproduce.claims import Claim, Kind, Values
from analysis.reproduce.inputs import DEFAULT, VARIABLE

OUR_AGENTS = (
    "as meant: our default agents beside the published ones; they have other observations, rewards and trainings"
)
PUBLISHED_AGENTS = "as written: agents with the paper's observation, networks, reward and hyper-parameters"
AS_RUN = "as run: what the authors' public program did, where that is not what the paper says"
"""The three readings, groups of claims: our default agent, the agent of the paper's text, and what its program ran."""

IN_SAMPLE = "in-sample: tested on the jobs that they were trained on"
OUT_OF_SAMPLE = "out-of-sample: tested on jobs that they were not trained on"
"""What the heading of such a group also says."""


@dataclass(frozen=True)
class PaperFigure:
    """A plotly figure as its JSON, under the number that it has in the paper."""

    name: str
    caption: str
    plotly: Mapping[str, Any]


@dataclass
class Measured:
    """Results of a part: values by name (numbers, bools, lists of them), figures, and how many runs it took.

    ``curtailed``: start of a value's name → what was cut short, so that nothing follows where it misses what is published.
    """

    values: dict[str, Any] = field(default_factory=dict)
    figures: list[PaperFigure] = field(default_factory=list)
    runs: int = 0
    curtailed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ComputedPart:
    """A piece of the work that is computed in one go, in a process of its own, and kept when it is done.

    Attributes
    ----------
    name : unique within the paper.
    compute : a function of a module (processes look it up by name): ``compute(inputs, **arguments) -> Measured``.
    arguments : of ``compute``, as JSON knows them. A part is computed again when they change.
    needs : files and folders that it reads, relative to the folder of inputs. It is left out when one is missing.
    measures : how what its values are called begins, to say why they are absent.
    """

    name: str
    compute: Callable[..., Measured]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReproductionSetting:
    """Setting of a reproduction."""

    quick: Annotated[bool, Doc("fewer seeds and steps: under two minutes, and says so")]
    inputs: Annotated[
        Path, Doc(f"folder of the papers' inputs; the environment variable {VARIABLE}, else {DEFAULT}, unless given")
    ]
    agents: Annotated[
        Path | None,
        Doc(
            "trained agents for the papers' rows of agents: FOLDER/NAME/ROW or FOLDER/TRAINING, each as train leaves it"
        ),
    ] = None
    trainings: Annotated[Path | None, Doc("where agents that are not there are trained; without, none is")] = None
    seeds: Annotated[
        int | None, Ge(1), Doc("train every kind of agent, and draw hundreds of fresh actors, at most so many times")
    ] = None
    parts: Annotated[
        str, Doc("compute and show only the parts whose name contains this text, such as the row of an agent")
    ] = ""


@dataclass(frozen=True)
class AgentRow:
    """A row of a paper's table of agents.

    Attributes
    ----------
    name : of its folder.
    what : for people.
    cases : what it is tested on, by name; what each is the paper's module says.
    against : specs of the schedulers (or power policies) that it is compared with.
    training : name of its training, and of the folder that it is left in.
    file : file in ``examples/training`` that says how, without its ending; the training's name unless given.
    environment : keys of its environment in place of the file's.
    options : options of its algorithm in place of the file's.
    like : name of the row that the paper prints, where this is another agent in its place; "": it is that row.
    most : keys of the configuration of which there are at most so many, whatever the file says: seeds.
    out_of_sample : whether it is tested on jobs that it was not trained on.
    rule : spec of a scheduler that learns nothing, for what learning adds to it; "" for none.
    network : spec of its network in place of the file's; "": the file's.
    reading : how the published number is read; "": by ``like``, our default agent or the agent of the paper's text.
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
    reading: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    network: str = ""

    @property
    def printed(self) -> str:
        """Return the name under which a paper's module has the published numbers."""
        return self.like or self.name

    @property
    def group(self) -> str:
        """Return the group of its claims.

        The heading says whether agents are tested on the jobs that they were trained on.
        """
        agents = self.reading or (PUBLISHED_AGENTS if self.like else OUR_AGENTS)
        return f"{agents}; {OUT_OF_SAMPLE if self.out_of_sample else IN_SAMPLE}"

    @property
    def kind(self) -> Kind:
        """Return what its claims are about."""
        return Kind.PAPER if self.like else Kind.OUR_AGENT


@dataclass(frozen=True)
class Paper:
    """A paper's declarations.

    Attributes
    ----------
    name : on the command line.
    title, citation : for the report.
    parts : the work, for a setting.
    claims : every published number, in the order of the paper.
    figures : what is drawn from all values together; parts may draw their own.
    quick : one sentence: what ``--quick`` leaves out.
    notes : what a reader has to know beside the verdicts.
    shown : figures that the manual's page has as pictures, by what they are called.
    rows : agents for which the report says what learning adds.
    left_out : prefix of a value's name → why nothing measures it in that setting.
    """

    name: str
    title: str
    citation: str
    parts: Callable[[ReproductionSetting], Sequence[ComputedPart]]
    claims: Callable[[], Sequence[Claim]]
    figures: Callable[[Values], Sequence[PaperFigure]]
    quick: str
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    rows: tuple[AgentRow, ...] = ()
    left_out: Callable[[ReproductionSetting], Mapping[str, str]] = lambda setting: {}
