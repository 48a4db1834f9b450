"""Experiments 3 and 4 as the public program ran them: every one of the 100 test runs acts with a newly drawn actor.

The program that the thesis cites (June 2023) did not do what the text says, in four ways:

- With stochastic weight averaging, on in these experiments, it saved the averaged actor under names that it did not look
  for when it loaded it. It loaded what it found, which was nothing, and did not say so.
- It made a new agent for each run, with weights drawn from N(0, 1), and did not seed torch.
- It divided observations by their sum. The division by the L2 norm came in January 2024, before the journal version.
- It looked at 180 jobs of the queue in experiment 3, and at 100 in experiment 4: all of them.

So a hundred of its runs are a hundred actors that have learned nothing, each in one run. Such hundreds are drawn here again:
if the printed least, mean and greatest lie among theirs, the printed agents need not have learned anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.reproduce.agents import SUMMARIES
from analysis.reproduce.claims import AMONG, Claim
from analysis.reproduce.controls import RANDOM_PLAY, random_player, untrained_agents
from analysis.reproduce.energy_scheduler.experiment_1 import episode
from analysis.reproduce.paper import AS_RUN, ComputedPart, Measured, ReproductionSetting
from analysis.reproduce.plays import Played, reached_in_one_run, reductions_of
from analysis.reproduce.trainings import AgentTraining, configuration, training_of

HUNDREDS, RUNS = 20, 100


@dataclass(frozen=True)
class FreshActors:
    """Hundreds of actors that have learned nothing, on one case.

    ``file`` is the training in ``examples/training`` that they would begin; ``observation`` and ``num_jobs`` are as the
    public program had them.
    """

    case: str
    against: tuple[str, ...]
    file: str
    observation: str
    num_jobs: int

    def part(self, setting: ReproductionSetting) -> list[ComputedPart]:
        """Return the part that plays them; none where agents cannot be made."""
        environment = {
            "observation": self.observation,
            "options": {"placements": "one", "num_jobs": self.num_jobs},
        }
        training = training_of(self.file, environment, setting)
        if training is None:
            return []
        arguments = {
            "case": self.case,
            "against": list(self.against),
            "training": training.as_json(),
            "hundreds": 2 if setting.quick else HUNDREDS,
        }
        return [ComputedPart(f"as run {self.case}", hundreds, arguments, training.needs, (f"as run/{self.case}/",))]

    def claims(self, what: str, against: str, metric: str, published: Sequence[str], source: str) -> list[Claim]:
        """Return the claims for three published reductions (min, avg, max) against one scheduler; "" for one not printed."""
        found = []
        for summary, number in zip(SUMMARIES, published, strict=True):
            if number:
                start = f"as run/{self.case}"
                end = f"{against}/{metric}/{summary}"
                found.append(
                    Claim(
                        f"{start}/{what}/{end}",
                        f"{what}, {metric}: {summary} reduction against {against.removeprefix('list:')}, {self.case}",
                        number,
                        "%",
                        source,
                        f"{start}/{end}",
                        AMONG,
                        controls={RANDOM_PLAY: f"{start}/{RANDOM_PLAY}/{end}"},
                        group=AS_RUN,
                        several="hundreds of runs",
                    )
                )
        return found


def hundreds(inputs: Path, case: str, against: Sequence[str], training: Mapping[str, Any], hundreds: int) -> Measured:
    """Play hundreds of fresh actors, and as many of a player to whom all actions are alike, its control.

    Values are named ``as run/CASE/AGAINST/METRIC/min|avg|max``: a list with a number for each hundred. Those of the
    control have its name after CASE.
    """
    made = AgentTraining.of(training)
    assert made is not None
    config, tested = configuration(made, inputs), episode(inputs, case)
    found = Measured()
    with TemporaryDirectory() as place:
        random_player(config).save(f"{place}/uniform")
        for number in range(hundreds):
            references = {scheduler: reached_in_one_run(scheduler, tested, number) for scheduler in against}
            fresh, uniform = [], []
            for seed in range(number * RUNS, (number + 1) * RUNS):
                untrained_agents(config, [seed])[0].save(f"{place}/fresh")
                fresh.append(reached_in_one_run(f"learned:{place}/fresh,sample=yes", tested, seed))
                uniform.append(reached_in_one_run(f"learned:{place}/uniform,sample=yes", tested, seed))
            for start, runs in ((f"as run/{case}", fresh), (f"as run/{case}/{RANDOM_PLAY}", uniform)):
                for value, reduction in reductions_of(start, [Played(runs, runs[0])], references).items():
                    if value.rpartition("/")[2] in SUMMARIES:  # of drawn actions: none is played without chance
                        found.values.setdefault(value, []).extend(reduction)
                found.runs += len(runs)
            found.runs += len(references)
    return found
