"""A limit that is kept: ``python -m studies.constraint_study [INPUTS] --out FOLDER [--seeds N]``.

INPUTS holds the days of Taurus that Casagrande et al. (2022) released, in ``cases/deepshutdown``. What is wanted is the least
waste with a mean stretch of 0.175 at most, their limit, in each of four classes of days: busy ones (40 jobs and more) and
ordinary ones, of short jobs (half of them request 30 minutes at most) and of long ones. All is learned and chosen on the days
on which they trained, without those that no power policy could keep, because ``timeout:0`` breaks the limit there, or leaves
jobs unstarted, whose waits the cost counts. Every third day of a class is to choose by: limits there are tighter by half of
the interval of a mean of so many days, and the threshold of the rule of one number is the largest that keeps them. Agents
begin with the teacher summed-stretch and learn with a multiplier for each class. Then each plays the days on which the
authors tested, once, or those in the folders of ``--fresh``. FOLDER receives the tables of each stage, the days, the agents
and ``runs.csv``; what is there is not made again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from analysis.reproduce.deepshutdown.agents import taught as play_taught
from analysis.reproduce.deepshutdown.days import episode
from analysis.reproduce.deepshutdown.runs import BUSY_DAYS, FOLDER, ORDINARY_DAYS, day_files, run_day, taurus
from cluster_sim import Platform, Workload
from cluster_sim.errors import InputError
from cluster_sim.files.atomic import atomic_files
from cluster_sim.records.intervals import half_width
from cluster_sim.records.result import Result
from learning.tasks.episodes import Episode, spread
from learning.training.configuration import Config
from learning.training.inputs import MakeEnvironment, rules_of, split_days
from learning.training.training_seeds import train
from studies.shutdown_study import INPUTS, of_day

LIMIT = 0.175
"""Of the mean over days of the mean stretch over a day's jobs, in each class of days."""
BUSY = 40
"""Jobs of a busy day, at least; the median of the 48 that were released as busy ones is 49."""
SHORT_S = 1800.0
"""Half of the jobs of a short day request no more than that."""
CLASSES = ("busy-short", "busy-long", "ordinary-short", "ordinary-long")
TO_LEARN, TO_CHOOSE = 60, 24
"""Days of a class to learn from and to choose by, at most: of the ordinary long ones there are more than of all others."""
BASE = "timeout:0"
THRESHOLDS = (0.05, 0.1, 0.125, 0.15, 0.175, 0.2, 0.25, 0.3, 0.4, 0.5)
OTHERS = ("timeout:300", "keep-ready:1", "inertial", "off-reservation:0.5", "off-reservation:1")
"""What stands beside them: clairvoyant are the last two."""
AGENT, RULE, TEACHER = "agent", "summed-stretch", "their teacher"


@dataclass(frozen=True)
class Day:
    """A released day as an episode, and the file it is from."""

    path: Path
    jobs: Workload

    @property
    def kind(self) -> str:
        """How many jobs it has."""
        return "busy" if len(self.jobs) >= BUSY else "ordinary"

    @property
    def of_class(self) -> str:
        """One of :data:`CLASSES`: its kind, and what its jobs request."""
        is_short = self.jobs.jobs["requested_time"].median() <= SHORT_S
        return f"{self.kind}-{'short' if is_short else 'long'}"

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.path.parent.name}/{self.path.stem}"


def days_in(inputs: Path, folders: Iterable[str], platform: Platform) -> list[Day]:
    """The days in these folders, by their numbers."""
    return [
        Day(path, episode(Workload.read(path, time_unit="minutes"), platform)) for path in day_files(inputs, folders)
    ]


def unknown(days: Iterable[Day], known: Iterable[Day]) -> list[Day]:
    """Return the days that share at most half of their jobs with each known day, and with each other; of two jobs or more."""

    def jobs(day: Day) -> set[tuple[Any, ...]]:
        table = day.jobs.jobs
        names = ("submit_time", "requested_cores", "requested_time", "recorded_run_time")
        return set(zip(*(table[name].tolist() for name in names), strict=True))

    seen = [jobs(day) for day in known]
    found = []
    for day in days:
        own = jobs(day)
        if len(day.jobs) > 1 and not any(2 * len(own & other) > min(len(own), len(other)) for other in seen):
            found.append(day)
            seen.append(own)
    return found


def measured(platform: Platform, days: Sequence[Day], policy: str) -> Iterator[dict[str, Any]]:
    """A row for each day: waste (W·min by node), switches, mean stretch, and what else :func:`of_day` says."""
    for seed, day in enumerate(days):
        yield _row(day, policy, run_day(platform, day.jobs, policy, seed))


def taught(config: Config, days: Sequence[Day]) -> Iterator[dict[str, Any]]:
    """Measure the teacher that the agents begin with, in the environment that they learn in."""
    platform, rules = MakeEnvironment.of(config.environment)().episodes.platform, rules_of(config.environment)
    for seed, day in enumerate(days):
        yield _row(day, TEACHER, play_taught(Episode(platform, day.jobs, seed, **rules), config))


def _row(day: Day, policy: str, result: Result) -> dict[str, Any]:
    return {
        "day": day.name,
        "days": day.kind,
        "class": day.of_class,
        "policy": policy,
        **of_day(result),
    }


def split(days: Sequence[Day]) -> tuple[list[Day], list[Day]]:
    """To learn from, and to choose by: every third of each class, and of both as many as are wanted, evenly spread."""
    to_learn: list[Day] = []
    to_choose: list[Day] = []
    for one in CLASSES:
        left, taken = split_days([day for day in days if day.of_class == one], 0, 3)
        to_learn += spread(left, TO_LEARN)
        to_choose += spread(taken, TO_CHOOSE)
    return to_learn, to_choose


def tightened(rows: pd.DataFrame) -> dict[str, float]:
    """The limit of each class less half the width of the 90 % interval of its mean over these days of one policy.

    Who has that mean or less on so many days keeps the limit, at 95 % on days like these.
    """
    return {
        str(one): LIMIT - float(half_width(of[["stretch"]].to_numpy(), 0.9, fewest=2)[0])
        for one, of in rows.groupby("class")
    }


TAUGHT_BY, ITERATIONS = "summed-stretch:soft=0.075,hard=0.1,linger=0", 6
"""The teacher of the agents in docs/results/limits.md, and their iterations."""


def training(
    inputs: Path,
    days: Path,
    limits: Mapping[str, float],
    seeds: int,
    teacher: str = TAUGHT_BY,
    iterations: int = ITERATIONS,
    validations: int = 1,
) -> Config:
    """How the agents learn, from the days in the folders ``train`` and ``validation`` there.

    Of several ``validations`` the one is kept that breaks the limits least; then all days there are played.
    """
    common = {"time_unit": "min", "days": True}
    return Config.model_validate(
        {
            "environment": {
                "kind": "node-shutdown",
                "platform": str(inputs / FOLDER / "platform_taurus_168cores.xml"),
                "workload": str(days / "train"),
                "until": 86400.0,
                "enforce_walltime": True,
                "reward": "default:stretch=0,late=0,by=node",
                "options": {"cost": "mean-stretch"},
                **common,
            },
            "algorithm": {
                "constraint": {
                    "limit": LIMIT, "classes": dict(limits), "at_most": 0.5,
                    "learning_rate": 6.0, "proportional": 8.0, "initial": 1.5,
                },
                "options": {
                    "gamma": 0.98, "lam": 0.9, "actor_lr": 4e-3, "critic_lr": 3e-3, "entropy": 0.0,
                    "epochs": 4, "minibatch": 512, "target_kl": 0.02,
                },
            },
            "iterations": iterations,
            "episodes": 16,
            "workers": 1,
            "seeds": seeds,
            "objective": "energy_waste_j",
            "validation": {
                "workload": str(days / "validation"),
                "every": max(1, iterations // validations),
                "episodes": 48 if validations == 1 else len(CLASSES) * TO_CHOOSE,
                **common,
            },
            "warm_start": {
                "teacher": teacher,
                "episodes": 40,
                "options": {"epochs": 5, "smoothing": 0.01, "minibatch": 128, "actor_lr": 3e-3, "critic_lr": 3e-3},
            },
        }
    )  # fmt: skip


def lay_out(parts: dict[str, Sequence[Day]], folder: Path) -> None:
    """The days as files to learn from, in a folder for each part."""
    for name, days in parts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for day in days:
            shutil.copy(day.path, folder / name / f"{day.of_class}_{day.path.parent.name}_{day.path.name}")


def markdown(runs: pd.DataFrame, rule: str, limit: float = LIMIT) -> str:
    """Tables of busy and ordinary days, all and those that the base keeps.

    Thresholds other than the rule's are left out, but for the *best in hindsight*: the one that wastes least of those that
    keep the limit on these days, those that the base keeps.
    """
    lines = []
    kept = runs[(runs["policy"] == BASE) & (runs["stretch"] <= limit)]["day"]
    for kind, of_kind in sorted(runs.groupby("days"), reverse=True):
        keepable = of_kind[of_kind["day"].isin(kept)]
        best = best_in_hindsight(keepable, limit)
        lines += ["", *_table(keepable, f"{kind} days, those on which `{BASE}` keeps the limit", rule, best)]
        lines += ["", f"a rule chosen for each day in hindsight: {least_by_choice(keepable, limit):,.0f} at least"]
        lines += ["", *_table(of_kind, f"{kind} days, all", rule, best)]
    return "\n".join(lines)


def best_in_hindsight(rows: pd.DataFrame, limit: float = LIMIT) -> str:
    """The rule of one number that wastes least on these days, of those that keep the limit there; else the nearest to it."""
    means = rows[rows["policy"].str.startswith(RULE)].groupby("policy")[["waste", "stretch"]].mean()
    kept = means[means["stretch"] <= limit]
    return str(kept["waste"].idxmin() if len(kept) else means["stretch"].idxmin())


def least_by_choice(rows: pd.DataFrame, limit: float = LIMIT) -> float:
    """A bound from below of the mean waste of whoever plays one of these policies each day, none of them an agent.

    They may know the days, and have to keep the limit in the mean: the greatest value of the Lagrangian dual, max over λ of
    the mean over days of the least waste + λ (stretch - limit).
    """
    rules = rows[~rows["policy"].str.startswith(AGENT)]
    waste, stretch = (
        rules.pivot(index="day", columns="policy", values=name).to_numpy() for name in ("waste", "stretch")
    )
    prices = np.concatenate([[0.0], np.geomspace(1.0, 1e6, 400)])
    return max(float((waste + price * (stretch - limit)).min(axis=1).mean()) for price in prices)


def _table(rows: pd.DataFrame, title: str, rule: str, best: str) -> list[str]:
    wide = {name: rows.pivot(index="day", columns="policy", values=name) for name in ("waste", "switches", "stretch")}
    unfinished = rows.groupby("policy")["unfinished"].sum()
    beside = {"the rule": rule, f"`{best}`": best, TEACHER: TEACHER}
    less = " | ".join(f"less than {name}, %" for name in beside)
    lines = [
        f"{len(wide['waste'])} {title}; the best in hindsight of those that keep it: `{best}`",
        "",
        f"| policy | waste, W·min a day | {less} | switches a day | mean stretch of a day | not over |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for policy in dict.fromkeys(rows["policy"]):
        if policy.startswith(RULE) and policy not in (rule, best):
            continue
        waste = wide["waste"]
        saved = [100.0 * (waste[other] - waste[policy]) / waste[other].mean() for other in beside.values()]
        around = half_width(np.column_stack([*saved, wide["stretch"][policy]]))
        cells = [
            f"`{policy}`",
            f"{waste[policy].mean():,.0f}",
            *(_around(of.mean(), half, 1) if of.any() else "" for of, half in zip(saved, around[:-1], strict=True)),
            f"{wide['switches'][policy].mean():.1f}",
            _around(wide["stretch"][policy].mean(), around[-1], 3),
            f"{unfinished[policy]:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _around(mean: float, half: float, digits: int) -> str:
    """A mean and half its interval; of too few days there is none."""
    return f"{mean:.{digits}f}" + (f" ± {half:.{digits}f}" if np.isfinite(half) else "")


def kept_in(folder: Path, name: str, make: Callable[[], Iterable[dict[str, Any]]]) -> pd.DataFrame:
    """The rows of a stage of the study: from its file there, or made and left there."""
    path = folder / f"{name.replace(':', '-')}.csv"
    if not path.exists():
        click.echo(f"{folder.name}: {name}")
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_files(path) as aside:
            pd.DataFrame(make()).to_csv(aside(path), index=False)
    return pd.read_csv(path)


def threshold_within(rules: Mapping[float, pd.DataFrame], limits: Mapping[str, float], by: str = "class") -> float:
    """The largest threshold under which, and under all smaller ones, no class has a mean stretch above its limit."""
    keeping = [
        all(mean <= limits[str(one)] for one, mean in rows.groupby(by)["stretch"].mean().items())
        for rows in rules.values()
    ]
    if not keeping[0]:
        raise InputError(
            "the rule of one number", "a threshold that keeps the limits", f"none, not even {next(iter(rules)):g}"
        )
    return list(rules)[keeping.index(False) - 1 if False in keeping else -1]


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Agents and tables.")
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Trainings.")
@click.option("--teacher", default=TAUGHT_BY, show_default=True, help="Teacher that the agents begin with.")
@click.option("--iterations", type=click.IntRange(1), default=ITERATIONS, show_default=True, help="Of a training.")
@click.option(
    "--validations", type=click.IntRange(1), default=1, show_default=True, help="Of a training, besides the first."
)
@click.option(
    "--fresh",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of folders of days to test on.",
)
def main(
    inputs: Path, out: Path, seeds: int, teacher: str, iterations: int, validations: int, fresh: Path | None
) -> None:
    """Choose a threshold, train agents, and print what they do on days that nothing was chosen by."""
    platform = taurus(inputs)
    released = days_in(inputs, (*BUSY_DAYS, *ORDINARY_DAYS["train"]), platform)
    base = kept_in(out / "choosing", BASE, lambda: measured(platform, released, BASE))
    can_be_kept = set(base["day"][(base["stretch"] <= LIMIT) & (base["started"] == base["jobs"])])
    to_learn, to_choose = split([day for day in released if day.name in can_be_kept])
    if not (out / "days").exists():
        shutil.rmtree(out / "days.part", ignore_errors=True)
        lay_out({"train": to_learn, "validation": to_choose}, out / "days.part")
        (out / "days.part").rename(out / "days")
    free = training(inputs, out / "days", {}, seeds)
    limits = tightened(kept_in(out / "choosing", TEACHER, lambda: taught(free, to_choose)))
    click.echo(f"limits where it is chosen: {', '.join(f'{one} {most:.4f}' for one, most in limits.items())}")
    rules = {
        threshold: kept_in(out / "choosing", spec, lambda: measured(platform, to_choose, spec))  # noqa: B023 - at once
        for threshold in THRESHOLDS
        for spec in (f"{RULE}:{threshold:g}",)
    }
    rule = f"{RULE}:{threshold_within(rules, limits):g}"
    click.echo(f"the rule of one number that keeps them: {rule}")
    config = training(inputs, out / "days", limits, seeds, teacher, iterations, validations)
    for seed in range(seeds):
        one = config.model_copy(update={"seeds": 1, "seed": seed})
        click.echo(train(one, out / "agents" / f"seed-{seed}", resume=True)[0])
    tested = days_in(inputs, ORDINARY_DAYS["test"], platform)
    if fresh is not None:
        known = [*released, *tested]
        tested = unknown(
            days_in(fresh, sorted(path.name for path in fresh.iterdir() if path.is_dir()), platform), known
        )
    agents = {f"learned:{out / 'agents' / f'seed-{seed}'}": f"{AGENT}, seed {seed}" for seed in range(seeds)}
    policies = dict.fromkeys([rule, *agents, *(f"{RULE}:{threshold:g}" for threshold in THRESHOLDS), BASE, *OTHERS])
    tables = [
        kept_in(out / "tested", agents.get(policy, policy), lambda: measured(platform, tested, policy))  # noqa: B023
        for policy in policies
    ]
    runs = pd.concat([*tables, kept_in(out / "tested", TEACHER, lambda: taught(config, tested))])
    runs["policy"] = runs["policy"].replace(agents)
    with atomic_files(out / "runs.csv") as aside:
        runs.to_csv(aside(out / "runs.csv"), index=False)
    click.echo(markdown(runs, rule))


if __name__ == "__main__":
    main()
