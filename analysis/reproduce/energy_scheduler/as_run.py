"""Experiments 3 and 4 as the public program ran them: every one of the 100 test runs acts with a newly drawn actor.

The program that the thesis cites (June 2023) did not do what the text says, in four ways:

- With stochastic weight averaging, on in these experiments, it saved the averaged actor under names that it did not look
  for when it loaded it. It loaded what it found, which was nothing, and did not say so.
- It made a new agent for each run, with weights drawn from N(0, 1), and did not seed torch.
- It divided observations by their sum. The division by the L2 norm came in January 2024, before the journal version.
- It looked at 180 jobs of the queue in experiment 3, and at 100 in experiment 4: all of them.

So a hundred of its runs are a hundred actors that have learned nothing, each in one run. Such hundreds are drawn here again:
if the printed least, mean and greatest lie among theirs, the printed agents need not have learned anything.

The authors' repository has pictures of all their tests (:mod:`analysis.reproduce.energy_scheduler.pictures`), of which they
print one for each kind of work. Their runs are compared with ours one by one: the distance of two samples is the greatest
difference of their distribution functions (Kolmogorov and Smirnov).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.reproduce.agents import SUMMARIES
from analysis.reproduce.claims import AMONG, AT_LEAST, AT_MOST, HOLDS, Claim, Kind, Values, number
from analysis.reproduce.controls import RANDOM_PLAY, random_player, untrained_agents
from analysis.reproduce.energy_scheduler.experiment_1 import episode
from analysis.reproduce.energy_scheduler.pictures import ENERGIES
from analysis.reproduce.paper import AS_RUN, ComputedPart, Measured, ReproductionSetting
from analysis.reproduce.plays import Played, reached_in_one_run, reductions_of
from analysis.reproduce.trainings import AgentTraining, configuration, training_of

HUNDREDS, RUNS = 20, 100
PICTURES = "the authors' public repository, rewards.png"
SMIRNOV = 1.358
"""Distance beyond which 5 % of pairs of samples of one distribution lie, times √(n m / (n + m)), for n and m numbers."""


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
            "hundreds": 2 if setting.quick else min(HUNDREDS, setting.seeds or HUNDREDS),
        }
        return [ComputedPart(f"as run {self.case}", hundreds, arguments, training.needs, (f"as run/{self.case}/",))]

    def claims(self, what: str, against: str, metric: str, published: Sequence[str], source: str) -> list[Claim]:
        """Return the claims for three published reductions (min, avg, max) against one scheduler; "" for one not printed."""
        found = []
        for summary, printed in zip(SUMMARIES, published, strict=True):
            if printed:
                start = f"as run/{self.case}"
                end = f"{against}/{metric}/{summary}"
                found.append(
                    Claim(
                        f"{start}/{what}/{end}",
                        f"{what}, {metric}: {summary} reduction against {against.removeprefix('list:')}, {self.case}",
                        printed,
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

    def picture_claims(self, against: str, worst: str, trained: str) -> list[Claim]:
        """Return the claims about the pictures of all tests on this case.

        ``against`` is the scheduler that the reductions are relative to, ``worst`` the printed least reduction of energy, and
        ``trained`` the row of the agents that were trained as written.
        """
        start, tests = f"as run/{self.case}", ENERGIES[self.case]
        end = f"{against}/energy/{SUMMARIES[-1]}"
        found = [
            Claim(f"{start}/pictures/{test}/distance", f"{test}: its runs' distance from those of fresh actors, {self.case}",
                  "1", "of the 5 % limit", PICTURES, partial(_apart, f"{start}/runs", runs), AT_MOST, kind=Kind.OURS,
                  how="of the distance within which two samples of one distribution lie in 95 % of cases",
                  controls={RANDOM_PLAY: partial(_apart, f"{start}/{RANDOM_PLAY}/runs", runs)}, group=AS_RUN)
            for test, runs in tests.items()
        ]  # fmt: skip
        if len(tests) > 1:
            found.append(
                Claim(f"{start}/pictures/mildest", f"how often the worst run of the mildest of {len(tests)} hundreds is at least "
                      f"as mild as the printed one, {self.case}", "5", "%", PICTURES,
                      partial(_mildest, f"{start}/{end}", number(worst), len(tests)), AT_LEAST, kind=Kind.OURS,
                      how="the authors printed the mildest of their tests", group=AS_RUN)
            )  # fmt: skip
        found.append(
            Claim(f"{start}/pictures/trained", f"no trained actor's hundred is distributed as one of these tests, {self.case}",
                  "yes", "", PICTURES, partial(_all_apart, f"agent/{trained}/{self.case}/runs", tests), HOLDS,
                  kind=Kind.OURS, how="all distances are above the 5 % limit", group=AS_RUN)
        )  # fmt: skip
        return found


def distance(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the greatest difference of two samples' distribution functions, from 0 to 1."""
    samples = [np.sort(np.asarray(sample)) for sample in (first, second)]
    at = np.concatenate(samples)
    functions = [np.searchsorted(sample, at, side="right") / len(sample) for sample in samples]
    return float(np.abs(functions[0] - functions[1]).max())


def _apart_from(ours: npt.ArrayLike, theirs: Sequence[float]) -> float:
    """Return the distance of our runs, in J, from theirs, in kJ, over the limit within which 95 % of such pairs lie."""
    return distance(np.divide(ours, 1e3), theirs) / (SMIRNOV * sqrt(1.0 / np.size(ours) + 1.0 / len(theirs)))


def _apart(ours: str, theirs: Sequence[float], values: Values) -> float:
    return _apart_from(np.ravel(values[ours]), theirs)


def _all_apart(ours: str, tests: Mapping[str, Sequence[float]], values: Values) -> bool:
    return min(_apart_from(runs, theirs) for runs in values[ours] for theirs in tests.values()) > 1.0


def _mildest(worst: str, printed: float, count: int, values: Values) -> float:
    """Return how often the mildest of ``count`` of our hundreds is at least as mild as printed, %."""
    if len(values[worst]) < HUNDREDS:
        raise KeyError(f"{worst} of {HUNDREDS} hundreds")
    others = sum(value < printed for value in values[worst])
    return 100.0 * (1.0 - comb(others, count) / comb(len(values[worst]), count))


def hundreds(inputs: Path, case: str, against: Sequence[str], training: Mapping[str, Any], hundreds: int) -> Measured:
    """Play hundreds of fresh actors, and as many of a player to whom all actions are alike, its control.

    Values are named ``as run/CASE/AGAINST/METRIC/min|avg|max``: a list with a number for each hundred. ``as run/CASE/runs``
    are the energies of their runs, J. Those of the control have its name after CASE.
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
                found.values.setdefault(f"{start}/runs", []).append([round(run["energy_j"]) for run in runs])
                found.runs += len(runs)
            found.runs += len(references)
    return found
