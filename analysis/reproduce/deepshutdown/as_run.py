"""DeepShutdown's agent as the authors' public program trains it, and OR* where the head of the queue is never delayed.

The program (DeepShutdown and GridGym, August 2020) differs from the paper's text in six ways; ``deepshutdown-as-run.yaml`` has
them, with where each stands. It trains on the 48 days that came with it, and tests on these. The machine at hand gives a small
part of the 50 million steps; how many is told beside each row. Actions are drawn, as in training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.reproduce.claims import AT_LEAST, HOLDS, Claim, Kind, Tolerance, Values, points, relative
from analysis.reproduce.controls import RANDOM_PLAY, SEEDS, UNTRAINED, random_player, training_in, untrained_agents
from analysis.reproduce.deepshutdown.days import figures, group_of
from analysis.reproduce.deepshutdown.runs import BUSY_DAYS, POLICIES, released_days, run_day, taurus
from analysis.reproduce.paper import AS_RUN, AgentRow, Measured
from analysis.reproduce.trainings import AgentTraining, configuration, trained_in
from cluster_sim.records.metrics import watt_minutes

if TYPE_CHECKING:
    from learning.algorithms.rollouts import Trajectory
    from learning.tasks.episodes import Episode
    from learning.training.agent import Agent
    from learning.training.configuration import Config

ITERATIONS = 10
"""Iterations of a training that a reproduction does itself, of the 2170 that 50 million steps are: ten minutes of one core."""
PRINTED_STEPS = "50000000"
ROW = AgentRow(
    "taurus-as-run", "agent on Taurus, as run", (), (), "deepshutdown-as-run", most={"iterations": ITERATIONS}
)
NEVER, ALWAYS = "never reserves", "reserves everything"
CONTROLS = (UNTRAINED, RANDOM_PLAY, NEVER, ALWAYS)
AGENT, BASE = "agent", "T(0)"
METRICS = ("waste", "switches", "stretch", "score")
"""Of a day: W·min by core, switches of nodes, mean stretch of the jobs that started, and the return in the program's reward.

The rows that the authors released have all four. T(0) is not played in the agent's environment, so here it has no return.
"""
RELEASED = {"waste": "47.3", "switches": "59.4", "stretch": "0.175", "score": "-11.3"}
"""Of the authors' agent, means of the released rows: waste and switches in % less than their T(0)."""
HEAD_STARTS = "off-reservation:0.5,head=starts"
START = f"agent/{ROW.name}"
STEPS_OF_A_DAY = 1440


def head_days(inputs: Path, quick: bool) -> Measured:
    """Measure how much less T(0), OR* and OR* that never delays the head waste and switch, %, on the 48 busy days."""
    platform = taurus(inputs)
    days = released_days(inputs, BUSY_DAYS, platform, 4 if quick else None)
    specs = {BASE: POLICIES[BASE], "OR*": POLICIES["OR*"], "head": HEAD_STARTS}
    means = {
        name: pd.DataFrame([figures(run_day(platform, day, spec, seed)) for seed, day in enumerate(days)]).mean()
        for name, spec in specs.items()
    }
    found = Measured(runs=len(specs) * len(days))
    for name in ("OR*", "head"):
        for column in ("energy_waste", "node_waste", "nb_switches"):
            found.values[f"as run/{name}/{column}"] = 100.0 * float(1.0 - means[name][column] / means[BASE][column])
    return found


def as_run_days(
    inputs: Path, row: str, quick: bool, folder: str, written: int, training: Mapping[str, Any] | None
) -> Measured:
    """Train the agent if it is not there, and play each of the busy days with it and its controls.

    Values are ``agent/ROW/METRIC`` and, in % less than T(0), ``agent/ROW/GROUP/METRIC`` (GROUP: all, or group K); those of a
    control have its name at the end. ``agent/ROW/steps`` is how far the agent was trained.
    """
    from learning.training.inputs import all_days
    from learning.training.training import last
    from learning.training.training_seeds import train

    how = AgentTraining.of(training)
    found = Measured()
    place = Path(folder)
    if how is not None:
        began = process_time()
        train(configuration(how, inputs), place, resume=True)
        found = trained_in(f"{START}/", process_time() - began, how)
    config = training_in(place, inputs)
    agent = last(next(place.glob("**/config.yaml")).parent)
    days = all_days(config.environment)[: 4 if quick else None]
    seeds = list(SEEDS[UNTRAINED])[: 1 if quick else None]
    players: list[tuple[str, int, Agent | int]] = [(AGENT, 0, agent), (RANDOM_PLAY, 0, random_player(config))]
    players += [(UNTRAINED, seed, one) for seed, one in zip(seeds, untrained_agents(config, seeds), strict=True)]
    players += [(NEVER, 0, 0), (ALWAYS, 0, days[0].platform.node_count)]
    rows = [
        {"who": who, "number": number, **line} for who, number, one in players for line in _played(config, one, days)
    ]
    for seed, day in enumerate(days):
        result = run_day(day.platform, day.workload, POLICIES[BASE], seed)
        counted, stretch = figures(result), result.summary()["mean_stretch"]
        line = {"waste": counted["energy_waste"], "switches": counted["nb_switches"], "stretch": stretch}
        rows.append({"who": BASE, "number": 0, "group": _group(day), **line})
    found.runs = len(rows)
    found.values |= compared(pd.DataFrame(rows))
    found.values[f"{START}/steps"] = int(agent.facts["iteration"]) * config.episodes * STEPS_OF_A_DAY
    if quick:
        found.curtailed.setdefault(f"{START}/", "four days only (--quick)")
    return found


def compared(table: pd.DataFrame) -> dict[str, Any]:
    """Return means over days of each player and of T(0), and by how many % they lie below those of T(0)."""
    found: dict[str, Any] = {}
    sets = {"all": table} | {f"group {group}": lines for group, lines in table.groupby("group")}
    for name, lines in sets.items():
        means = lines.groupby(["who", "number"])[list(METRICS)].mean()
        for who in (AGENT, *CONTROLS, BASE):
            end = "" if who == AGENT else f"/{who}"
            for metric in METRICS:
                reached = means.loc[[who], metric]
                if name == "all":
                    found[f"{START}/{metric}{end}"] = reached.dropna().tolist()
                if metric in ("waste", "switches"):
                    base = float(means[metric][BASE, 0])
                    less = [100.0 * (1.0 - one / base) for one in reached.tolist()] if base else []
                    found[f"{START}/{name}/{metric}{end}"] = less
    return found


def _group(day: Episode) -> int:
    return group_of(day.workload.share_of_sequential_jobs())


def _played(config: Config, player: Agent | int, days: Sequence[Episode]) -> list[dict[str, float]]:
    """Return a line for each day: of an agent with drawn actions, or of one who reserves a number of nodes all day."""
    from learning.algorithms.rollouts import collect
    from learning.training.inputs import MakeEnvironment

    make = MakeEnvironment.of(config.environment)
    if isinstance(player, int):
        return [_reserving(make(), player, day) for day in days]
    network = player.build(make().maker)
    options = [{"episode": replace(day, seed=seed)} for seed, day in enumerate(days)]
    trajectories = collect(make, network, range(len(days)), group=16, options=options)
    return [_line(day, trajectory) for day, trajectory in zip(days, trajectories, strict=True)]


def _reserving(environment: Any, number: int, day: Episode) -> dict[str, float]:
    environment.reset(seed=0, options={"episode": day})
    score, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = environment.step(number)
        score += float(reward)
        over = terminated or truncated
    return _of(day, info["metrics"], score)


def _line(day: Episode, trajectory: Trajectory) -> dict[str, float]:
    return _of(day, trajectory.metrics, trajectory.reward)


def _of(day: Episode, metrics: Mapping[str, float], score: float) -> dict[str, float]:
    return {
        "group": _group(day),
        "waste": watt_minutes(metrics["energy_waste_by_core_j"]),
        "switches": metrics["node_switches"],
        "stretch": float(np.nan if metrics.get("mean_stretch") is None else metrics["mean_stretch"]),
        "score": score,
    }


def as_run_claims(headline: Sequence[tuple[str, str, str]], by_group: Sequence[tuple[int, str]]) -> list[Claim]:
    """Return the claims of this reading: the paper's numbers on the agent as run, on its controls, and on OR*.

    ``headline`` has the metric, the printed % and the words of each number against T(0), ``by_group`` the group and the %.
    """

    def trained(name: str) -> str:
        return f"{START}/{name}"

    def row(key: str, what: str, number: str, name: str, source: str) -> Claim:
        controls = {who: f"{trained(name)}/{who}" for who in CONTROLS}
        return Claim(f"as-run/{key}", f"{what}, the agent as run", number, "%", source, trained(name), points(5),
                     how=HOW, controls=controls, reason=WHY, group=AS_RUN)  # fmt: skip

    def beside(metric: str, what: str, unit: str, tolerance: Tolerance) -> Claim:
        """Return a row of the agent beside the mean of the rows that the authors released of theirs."""
        name = f"all/{metric}" if unit == "%" else metric
        controls = {who: f"{trained(name)}/{who}" for who in CONTROLS}
        return Claim(f"as-run/released-{metric}", f"{what}, beside the authors' released rows", RELEASED[metric], unit,
                     "released data", trained(name), tolerance, how=HOW, controls=controls, reason=WHY, kind=Kind.OURS,
                     group=AS_RUN)  # fmt: skip

    def better(v: Values) -> bool:
        return bool(v[trained("score")][0] > max(max(v[f"{trained('score')}/{who}"]) for who in CONTROLS))

    return [
        Claim("as-run/steps", "steps that the agent as run has had, of the paper's", PRINTED_STEPS, "", "§5", trained("steps"),
              AT_LEAST, kind=Kind.OURS, group=AS_RUN),
        *(row(f"headline-T0-{metric}", what, number, f"all/{metric}", "abstract") for metric, number, what in headline),
        *(row(f"group-{group}/T(0)", f"group {group}: DS wastes less than T(0)", number, f"group {group}/waste", "§5.4")
          for group, number in by_group),
        beside("waste", "the agent as run wastes less than T(0)", "%", points(5)),
        beside("switches", "the agent as run switches less than T(0)", "%", points(5)),
        beside("stretch", "mean stretch under the agent as run", "", points(0.05)),
        beside("score", "return of the agent as run, by the program's reward", "", relative(0.15)),
        Claim("as-run/learned", "the agent as run has a better return than every control, by the program's reward", "yes", "",
              "GridGym, _get_reward", better, HOLDS, how=HOW, kind=Kind.OURS, group=AS_RUN),
        Claim("as-run/head", "OR* that never delays the head of the queue wastes less than T(0), by node, 48 busy days", "21.2",
              "%", "Table 3", "as run/head/node_waste", relative(0.15), kind=Kind.OURS, how="printed: all days", group=AS_RUN),
        Claim("as-run/head-cores", "the same by core, beside the printed saving of DS", "11.7", "%", "abstract",
              "as run/head/energy_waste", points(5), kind=Kind.OURS, how=HEAD, group=AS_RUN),
        Claim("as-run/head-switches", "the same: switches, beside the printed saving of DS", "17.9", "%", "abstract",
              "as run/head/nb_switches", points(5), kind=Kind.OURS, how=HEAD, group=AS_RUN),
    ]  # fmt: skip


HOW = "in sample: the 48 busy days; drawn actions, by core; one training"
WHY = "the agent has had a small part of the paper's 50 million steps"
HEAD = "a rule of ours, stricter than the program's: it shows what sparing the head costs, not what the authors ran"
