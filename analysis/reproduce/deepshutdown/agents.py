"""The agent of DeepShutdown's tables, and its controls, on days that none of them has seen.

There are two sets of days. The 48 busy ones are each played by the agents of the fold that left it out. Every twentieth
of the 1,357 others, the ordinary ones, is played by the agents of the first fold. Beside the usual controls stands the
*one-number rule*, ``summed-stretch:θ``. Its θ is chosen on the training days of a fold: of the thresholds that keep the
agents' limit on the mean stretch, the one that wastes least.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.reproduce.controls import RANDOM_PLAY, SEEDS, TEACHER, UNSEEN, UNTRAINED, leave, training_in, tries
from analysis.reproduce.deepshutdown.days import figures, group_of
from analysis.reproduce.deepshutdown.runs import ORDINARY_DAYS, POLICIES, of_jobs, released_days, with_gaps
from analysis.reproduce.paper import AgentRow, Measured
from analysis.reproduce.trainings import AgentTraining, configuration, trained_in
from cluster_sim import Simulation
from cluster_sim.records.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from learning.tasks.episodes import Episode
    from learning.training.configuration import Config

NAME = "deepshutdown"
BUSY, ORDINARY = "all", "ordinary"
"""Names of the two sets of days in the names of values."""
AGAINST = {name: POLICIES[name] for name in ("T(0)", "T(1)", "T(5)", "OR*")}
ROW = AgentRow("taurus", "agent on Taurus", (), tuple(AGAINST.values()), NAME)
AGENT, RULE = "agent", "one-number rule"
BESIDE = (UNTRAINED, RANDOM_PLAY, TEACHER, RULE)
"""Players who have learned nothing. Only the rule's number was chosen on the days that the agents were trained on."""
THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)
METRICS = ("waste", "node waste", "switches", "stretch")
"""Metrics of a day: W·min by core and by node, switches of nodes, and the mean stretch of the jobs that started."""
EVERY_ORDINARY = 20
LIMIT = 0.175
"""Mean stretch to which the agents keep: that of the paper's agent on its training days (docs/results/agents.md)."""


@dataclass(frozen=True)
class Player:
    """Player of a day: a power policy of that spec, under this seed. ``number`` tells several of a kind apart."""

    who: str
    number: int
    spec: str
    seed: int = 0

    def play(self, day: Episode) -> Result:
        """Run a day beside saf-easy."""
        from learning.training.heuristics import policies

        seed = day.seed + self.seed
        return Simulation(day.platform, day.workload, *policies(self.spec, "power", {}), seed, **day.rules()).run(
            warn=False
        )


def agent_days(
    inputs: Path,
    row: str,
    file: str,
    against: Mapping[str, str],
    quick: bool,
    folder: str,
    written: int,
    training: Mapping[str, Any] | None,
) -> Measured:
    """Train the agents of a row if they are not there, let all play, and compare them with the others.

    ``folder`` holds ``fold-K`` for each K of the ``fold: [K, n]`` of the configuration ``file``: agents that left out days K,
    K + n, … and are tested on them. With ``training`` they are trained first; ``quick`` does with four days of one fold.
    Names of the values: see :func:`compared`.
    """
    how = AgentTraining.of(training)
    config = configuration(how or AgentTraining(file, {}, False), inputs)
    found = Measured()
    if how is not None:
        from learning.training.training_seeds import train

        began = process_time()
        for (fold, _), of_fold in _folds(config, how.quick):
            train(of_fold, Path(folder) / f"fold-{fold}", resume=True)
        found = trained_in(f"agent/{row}/", process_time() - began, how)
    rows: list[dict[str, Any]] = []
    jobs: list[pd.DataFrame] = []
    for line, result in _played(config, Path(folder), inputs, against, quick):
        rows.append(line)
        if line["who"] == AGENT and line["days"] == BUSY:
            jobs.append(with_gaps(result.jobs))
    table, ran = pd.DataFrame(rows), pd.concat(jobs)
    found.runs = len(table)
    found.values |= compared(table, row, tuple(against))
    # Figs. 6 to 8 show of the agents: waste by node of each busy day (mean over trainings), slowdowns and run times.
    own = table[(table["who"] == AGENT) & (table["days"] == BUSY)]
    found.values[f"agent/{row}/daily waste"] = own.groupby("day")["node waste"].mean().round(1).tolist()
    shown = of_jobs(ran[ran["start_time"].notna()])
    found.values |= {f"agent/{row}/{name}": value for name, value in shown.items()}
    if quick:
        found.curtailed.setdefault(f"agent/{row}/", "four days only (--quick)")
    return found


def compared(table: pd.DataFrame, row: str, against: Sequence[str]) -> dict[str, Any]:
    """Return means over days, and by how many % they are below the policies ``against``.

    Each value is a list with a number for each training, or for each of a control. ``table`` has a line for each day
    and player: ``days``, ``group``, ``day``, ``who``, ``number`` and :data:`METRICS`. Values are
    ``agent/ROW/DAYS/AGAINST/METRIC`` (DAYS: all, group K or ordinary) and ``agent/ROW/DAYS/METRIC`` for the mean
    itself; of a control ``control/…/CONTROL``, of the policies ``policy/ROW/DAYS/METRIC/AGAINST``.
    """
    found: dict[str, Any] = {}
    busy = table[table["days"] == BUSY]
    sets = {BUSY: busy, ORDINARY: table[table["days"] == ORDINARY]}
    sets |= {f"group {group}": lines for group, lines in busy.groupby("group")}
    for days, lines in sets.items():
        means = lines.groupby(["who", "number"])[list(METRICS)].mean()
        for metric in METRICS:
            theirs = {name: float(means[metric][name, 0]) for name in against if (name, 0) in means.index}
            found |= {f"policy/{row}/{days}/{metric}/{name}": value for name, value in theirs.items()}
            for who in (AGENT, *BESIDE, UNSEEN):
                reached = means.loc[[who], metric].tolist() if who in means.index.get_level_values("who") else []
                start, end = (AGENT, "") if who == AGENT else ("control", f"/{who}")
                found[f"{start}/{row}/{days}/{metric}{end}"] = reached
                for name, value in theirs.items():
                    less = [100.0 * (1.0 - one / value) for one in reached] if value > 0 else []
                    found[f"{start}/{row}/{days}/{name}/{metric}{end}"] = less
    return found


# --------------------------------------------------------------------------------------------------- who plays which day


def _folds(config: Config, quick: bool) -> Iterator[tuple[tuple[int, int], Config]]:
    """Yield each fold ``(K, n)`` with the configuration of its training; only the first if ``quick``."""
    _, number = config.environment.fold or (0, 1)
    for fold in range(1 if quick else number):
        environment = config.environment.model_copy(update={"fold": (fold, number)})
        yield (fold, number), config.model_copy(update={"environment": environment})


def _played(
    config: Config, folder: Path, inputs: Path, against: Mapping[str, str], quick: bool
) -> Iterator[tuple[dict[str, Any], Result]]:
    """Yield a line and the run of each day and player.

    Agents play the busy days that they have not seen, and those of the first fold also the ordinary ones.
    """
    from learning.tasks.episodes import Episode
    from learning.training.inputs import all_days, split_days

    busy, most = all_days(config.environment), 4 if quick else None
    like = busy[0]
    # Every twentieth of the other released days, as episodes by the same rules.
    folders = (*ORDINARY_DAYS["train"], *ORDINARY_DAYS["test"])
    others = released_days(inputs, folders, like.platform, every=EVERY_ORDINARY)[:most]
    ordinary = [Episode(like.platform, day, **like.rules()) for day in others]
    rules = rules_on(busy[: 8 if quick else None], THRESHOLDS[4:5] if quick else THRESHOLDS)
    for (fold, number), of_fold in _folds(config, quick):
        if not (folder / f"fold-{fold}").is_dir():
            continue
        seen, left_out = split_days(range(len(busy)), fold, number)
        sets = [(BUSY, [busy[i] for i in left_out[:most]])]
        sets += [(ORDINARY, ordinary)] if fold == 0 else []
        with TemporaryDirectory() as place:
            players = _players(folder / f"fold-{fold}", of_fold, inputs, Path(place), len(left_out), quick)
            players += [Player(name, 0, spec) for name, spec in against.items()]
            players.append(Player(RULE, 0, chosen_rule(rules[rules["day"].isin(seen)])))
            for days, episodes in sets:
                for day in episodes:
                    yield from _on_day(days, day, players, of_fold)


def _on_day(
    days: str, day: Episode, players: Sequence[Player], config: Config
) -> Iterator[tuple[dict[str, Any], Result]]:
    """Yield a line and the run of each player on a day, and of the teacher where there is one."""
    number = int(day.workload.name.rpartition("_")[2])
    which = {"days": days, "group": group_of(day.workload.share_of_sequential_jobs()), "day": number}
    for player in players:
        if days == ORDINARY and player.who == UNSEEN:
            continue  # asked only where a verdict on the paper's numbers depends on it
        result = player.play(day)
        yield {**which, "who": player.who, "number": player.number} | _numbers(result), result
    if config.warm_start is not None:
        result = taught(day, config)
        yield {**which, "who": TEACHER, "number": 0} | _numbers(result), result


def _players(fold: Path, config: Config, inputs: Path, place: Path, days: int, quick: bool) -> list[Player]:
    """Return the agents of a fold, and the controls that are agents; these are left in the folder ``place``.

    Random play has as many episodes as a training, spread over the days that are played.
    """
    from learning.training.agent import Agent, find_agents

    agents = find_agents(fold)[: 1 if quick else None]
    found = [Player(AGENT, int(Agent.load(agent).facts["seed"]), f"learned:{agent}") for agent in agents]
    trained_by = training_in(fold, inputs)
    for control in (UNTRAINED, UNSEEN):
        leave(control, trained_by, place / control)
        seeds = SEEDS[control][: 1 if quick else None]
        found += [Player(control, seed, f"learned:{place / control / f'seed-{seed}'}") for seed in seeds]
    leave(RANDOM_PLAY, trained_by, place / RANDOM_PLAY)
    plays = 1 if quick else max(1, round(tries(config) / days))
    spec = f"learned:{place / RANDOM_PLAY},sample=yes"
    found += [Player(RANDOM_PLAY, number, spec, number) for number in range(plays)]
    return found


def _numbers(result: Result) -> dict[str, float]:
    counted, stretch = figures(result), result.summary()["mean_stretch"]
    return {
        "waste": float(counted["energy_waste"]),
        "node waste": float(counted["node_waste"]),
        "switches": float(counted["nb_switches"]),
        "stretch": float("nan") if stretch is None else float(stretch),
    }


def taught(day: Episode, config: Config) -> Result:
    """Run a day under the teacher of a configuration."""
    from learning.tasks.episodes import Whole
    from learning.tasks.node_shutdown.teachers import shutdown_teachers
    from learning.training.inputs import environment_on

    assert config.warm_start is not None
    teacher = shutdown_teachers.make(config.warm_start.teacher)
    environment = environment_on(config.environment, Whole(day.platform, day.workload, **day.rules()))
    observation, _ = environment.reset(seed=day.seed)
    over = False
    while not over:
        observation, _, terminated, truncated, _ = environment.step(teacher(environment, observation))
        over = terminated or truncated
    return environment.result()


def rules_on(days: Sequence[Episode], thresholds: Sequence[float]) -> pd.DataFrame:
    """Return the :data:`METRICS` of the rule with each threshold on each day.

    There is a row for each ``threshold`` and ``day`` (its place).
    """
    rows = [
        {"threshold": threshold, "day": place} | _numbers(Player(RULE, 0, f"summed-stretch:{threshold:g}").play(day))
        for threshold in thresholds
        for place, day in enumerate(days)
    ]
    return pd.DataFrame(rows)


def chosen_rule(rules: pd.DataFrame) -> str:
    """Return the rule that wastes least by core and keeps the agents' limit on the mean stretch.

    If no threshold keeps the limit, it is the least threshold.
    """
    means = rules.groupby("threshold")[["waste", "stretch"]].mean()
    kept = means[means["stretch"] <= LIMIT]
    threshold = kept["waste"].idxmin() if len(kept) else means.index.min()
    return f"summed-stretch:{threshold:g}"
