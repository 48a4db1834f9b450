"""Figs. 10 and 11 and Table I of IRMaSim as the public program of March 2021 ran its agents.

It makes one update after each episode, with returns standardised inside that episode and multiplied by 1000. It asks the agent
at every submission and completion while jobs wait, and pays the energy of the time that has just passed. Its options of
that month choose among five policies with a network of 16 units and the learning rate 0.025, at the normal level of observation.
Its README has another example, 128 units and 0.001. The batch and the number of episodes are not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from analysis.reproduce.agents import row_part
from analysis.reproduce.claims import HOLDS, Claim, Kind, Values
from analysis.reproduce.irmasim.agents import AGENTS, LEVELS, MODEL_KEYS, REWARDS
from analysis.reproduce.irmasim.favourites import favourite_claims, favourites
from analysis.reproduce.paper import AS_RUN, AgentRow, ComputedPart, ReproductionSetting

_README = {"actor-critic": {"actor_lr": 0.001, "critic_lr": 0.001}, "reinforce": {"actor_lr": 0.001}}
_PAYS = {"makespan": "as-published:makespan", "energy": "as-run:energy", "edp": "as-run:edp"}
_TABLE_MOST = {"seeds": 10, "iterations": 40}
"""Limits of the table's trainings, of which there are 16 kinds."""

FIGURE_ROWS = tuple(
    AgentRow(
        f"{name} {model} {agent}",
        f"{agent}, {model} model, {what}",
        (),
        (),
        f"{file}-{name}-{model}",
        f"{file}-as-run",
        MODEL_KEYS[model],
        like=f"{model} {agent}",
        most=most,
        reading=AS_RUN,
        options=options[agent],
        network=network,
    )
    for name, what, network, options, most in (
        ("as-run", "options of March 2021", "", {agent: {} for agent in AGENTS}, {}),
        ("as-run-readme", "options of the README", "published-policies:hidden=128", _README, {"seeds": 10}),
    )
    for agent, file in AGENTS.items()
    for model in MODEL_KEYS
)
"""Rows of Figs. 10 and 11: both public settings, both agents, both models."""
TABLE_ROWS = tuple(
    AgentRow(
        f"as-run table-1 {agent} {reward} {level}",
        f"{agent}, reward for {reward}, {level} observation",
        (),
        (),
        f"irmasim-table-1-as-run/{agent}-{reward}-{level}",
        f"{file}-as-run",
        {"reward": _PAYS[reward], "observation": f"as-published:{level}"},
        most=_TABLE_MOST,
        reading=AS_RUN,
    )
    for agent, file in AGENTS.items()
    for reward in REWARDS
    for level in LEVELS
    if (reward, level) != ("energy", "normal")
)
"""Rows of agents × rewards of Table I × levels of observation, under the contention model; the rest is a row of Fig. 11."""
ROWS = (*FIGURE_ROWS, *TABLE_ROWS)
METRICS = {"makespan": "makespan", "energy": "energy", "edp": "EDP"}


def parts(paper: str, setting: ReproductionSetting) -> list[ComputedPart]:
    """Return the parts of all rows."""
    return [
        part
        for row in ROWS
        for part in row_part(paper, row, setting, favourites, {"row": row.name, "most": dict(row.most)})
    ]


def claims() -> list[Claim]:
    """Return the claims of Figs. 10 and 11 as run, of the episodes that they take, and of Table I."""
    found = []
    for row in FIGURE_ROWS:
        found += favourite_claims(row, "energy", "Fig. 10" if "baseline" in row.name else "Fig. 11", Kind.PAPER)
    for row, other in _pairs(FIGURE_ROWS):
        found.append(
            Claim(f"{row.name}/episodes", f"{row.what.replace(', baseline model', '')}: it takes more episodes with the baseline",
                  "yes", "", "§VII.B", partial(_slower, row.name, other.name), HOLDS,
                  how="median episodes until the mean entropy of decisions stays below ln 2: one policy is more probable than "
                      "all others together", group=row.group)
        )  # fmt: skip
    for row in TABLE_ROWS:
        metric = next(METRICS[reward] for reward in REWARDS if reward in row.name.split())
        found += favourite_claims(row, metric, "Table I", Kind.OURS)
    return found


def _pairs(rows: Sequence[AgentRow]) -> list[tuple[AgentRow, AgentRow]]:
    """Return each row of the baseline model with that of the contention model."""
    names = {row.name: row for row in rows}
    return [(row, names[name.replace("baseline", "contention")]) for name, row in names.items() if "baseline" in name]


def _slower(baseline: str, contention: str, values: Values) -> bool:
    """Return whether the median training settles under both models, and later with the baseline."""
    model, other = (median(values[f"agent/{name}/settled"]) for name in (contention, baseline))
    return bool(model < other < values[f"agent/{baseline}/episodes"])
