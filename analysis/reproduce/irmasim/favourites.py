"""Policies that agents favour as their program ran: how often a favourite is one of the cheapest, against chance.

The program's figures show the probabilities of the *first* decision of an episode. There the favourite is the policy of the
greatest probability. In its updates returns are standardised inside one episode, so nothing says that an episode was
better than another: which policy is favoured may be drift. Then it is a cheapest one as often as chance gives it: k of n,
where k policies need the least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import comb, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.reproduce.claims import HOLDS, MORE, Claim, Kind
from analysis.reproduce.controls import UNTRAINED, training_in, untrained_agents
from analysis.reproduce.irmasim.agents import SelectionCase
from analysis.reproduce.paper import AgentRow, Measured
from analysis.reproduce.trainings import AgentTraining, fewest, train_first

if TYPE_CHECKING:
    from learning.training.agent import Agent

CHANCE = "chance"
NO_MORE_THAN_CHANCE = 5.0
"""Share (%) of draws by chance below which a number of right favourites is no more called chance."""


def favourites(
    inputs: Path, row: str, most: Mapping[str, int], folder: str, written: int, training: Mapping[str, Any] | None
) -> Measured:
    """Train what is not trained yet, and see which policy every training favours; the same of untrained agents.

    Values are named ``agent/ROW/…``, and ``control/ROW/…/untrained`` of as many agents as a training begins with:

    favourite : number of the policy that is most probable in the first decision, for each training.
    first : its probability there, %.
    above : what it needs above the cheapest, kept for the whole run, %.
    cheapest : share of the trainings whose favourite is a cheapest one, %. ``control/ROW/cheapest/chance``: k of n.
    by chance : how often chance gives as many or more, %.
    settled : episodes after which the mean entropy of decisions stays below ln 2, so that one policy is more probable than
        all others together; all episodes if it never does.
    """
    from learning.training.logs import read_metrics
    from learning.training.training import CHECKPOINT, last

    asked = AgentTraining.of(training)
    start = f"agent/{row}/"
    found = train_first(start, inputs, folder, None if asked is None else replace(asked, most=fewest(most, asked.most)))
    seeds = [path.parent for path in Path(folder).glob(f"seed-*/{CHECKPOINT}")]
    places = sorted(seeds, key=lambda place: int(place.name.removeprefix("seed-"))) or [Path(folder)]
    agents = [last(place) for place in places]
    case = SelectionCase(training_in(folder, inputs), agents[0])
    right = _note(found, start, "", case, agents)
    _note(found, f"control/{row}/", f"/{UNTRAINED}", case, untrained_agents(case.config, range(len(places))))
    share = len(case.best) / len(case.alone)
    settled = []
    for place in places:
        entropies = [-entry["train/entropy_loss"] for entry in read_metrics(place) if "train/entropy_loss" in entry]
        settled.append(case.config.episodes * until_settled(entropies))
    found.values |= {
        f"{start}settled": settled,
        f"{start}episodes": case.config.episodes * case.config.iterations,
        f"{start}by chance": 100.0 * at_least_by_chance(right, len(places), share),
        f"control/{row}/cheapest/{CHANCE}": 100.0 * share,
    }
    found.runs += case.played
    return found


def _note(found: Measured, start: str, end: str, case: SelectionCase, agents: Sequence[Agent]) -> int:
    """Note the favourites of some agents; return how many are a cheapest policy."""
    probabilities = [case.first_probabilities(agent) for agent in agents]
    chosen = [int(one.argmax()) for one in probabilities]
    right = sum(favourite in case.best for favourite in chosen)
    found.values |= {
        f"{start}favourite{end}": chosen,
        f"{start}first{end}": [100.0 * float(one.max()) for one in probabilities],
        f"{start}above{end}": [100.0 * (case.alone[one] / min(case.alone) - 1.0) for one in chosen],
        f"{start}cheapest{end}": 100.0 * right / len(agents),
    }
    return right


def until_settled(entropies: Sequence[float]) -> int:
    """Return after how many updates all entropies are below ln 2; the number of updates if the last is not."""
    loose = np.flatnonzero(np.asarray(entropies) >= log(2.0))
    return min(int(loose[-1]) + 2, len(entropies)) if len(loose) else 1


def at_least_by_chance(right: int, count: int, share: float) -> float:
    """Return how probable ``right`` or more of ``count`` are, if each is right with the probability ``share``."""
    return sum(comb(count, i) * share**i * (1.0 - share) ** (count - i) for i in range(right, count + 1))


def favourite_claims(row: AgentRow, metric: str, source: str, kind: Kind) -> list[Claim]:
    """Return the claims about the favourites of a row: there is one, it is a cheapest one, and that is not chance."""
    start, control = f"agent/{row.name}", f"control/{row.name}"
    return [
        Claim(f"{row.name}/favours", f"{row.what}: one policy is favoured over the rest", "50.0", "% in the first decision",
              source, f"{start}/first", MORE, controls={UNTRAINED: f"{control}/first/{UNTRAINED}"}, kind=kind,
              how="its probability at the end of the training: more than all the others", group=row.group),
        Claim(f"{row.name}/least", f"{row.what}: which is one of least {metric}", "50.0", "% of trainings", source,
              f"{start}/cheapest", MORE, kind=kind, group=row.group,
              controls={one: f"{control}/cheapest/{one}" for one in (UNTRAINED, CHANCE)},
              how="in more than half of the trainings; controls: the same of as many untrained agents, and the share of the "
                  "policies that need the least",
              reason="returns are standardised inside one episode, so which policy is favoured is drift"),
        Claim(f"{row.name}/chance", f"{row.what}: chance gives as many favourites of least {metric}", "yes", "",
              "measured here", lambda v: bool(v[f"{start}/by chance"] > NO_MORE_THAN_CHANCE), HOLDS, kind=Kind.OURS,
              how=f"as many or more in above {NO_MORE_THAN_CHANCE:g} % of cases, if every policy is as likely to be favoured",
              group=row.group),
    ]  # fmt: skip
