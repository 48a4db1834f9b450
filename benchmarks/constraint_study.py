"""A limit that is kept: ``python -m benchmarks.constraint_study [INPUTS] --out FOLDER [--seeds N]``.

INPUTS holds the days of Taurus that Casagrande et al. (2022) released, in ``cases/deepshutdown``. What is wanted is the least
waste with a mean stretch of 0.175 at most, their limit. All is learned and chosen on the days on which they trained, without
those on which ``timeout:0`` breaks the limit itself, which no power policy can keep: every fifth of these, of busy days (40 jobs
and more) and of ordinary ones, is for choosing. Agents begin with the teacher summed-stretch and learn with a constraint; the
threshold of the rule of one number is the largest that keeps the limit on the days to train on. Then each plays the days on
which the authors tested, once; tables are of busy and ordinary days, all of them and those that ``timeout:0`` keeps. FOLDER
receives the days, the agents and ``runs.csv``; what is there is not made again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from analysis.deepshutdown import episode
from analysis.replications import half_width
from analysis.reproduce.deepshutdown_agents import taught as play_taught
from analysis.reproduce.deepshutdown_runs import BUSY_DAYS, FOLDER, ORDINARY_DAYS, day_files, run_day, taurus
from benchmarks.shutdown_study import INPUTS, of_day
from cluster_sim import Platform, Workload
from cluster_sim.files.atomic import atomic_files
from cluster_sim.records.result import Result
from learning.agent import find_agents
from learning.config import Config
from learning.episodes import Episode
from learning.inputs import MakeEnvironment, rules_of, split_days
from learning.training import train

LIMIT = 0.175
"""Of the mean over days of the mean stretch over a day's jobs."""
BUSY = 40
"""Jobs of a busy day, at least; the median of the 48 that were released as busy ones is 49."""
BASE = "timeout:0"
THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
OTHERS = ("timeout:300", "keep-ready:1", "inertial", "off-reservation:0.5")
"""What stands beside them: clairvoyant is the last."""
TEACHER = "their teacher"


@dataclass(frozen=True)
class Day:
    """A released day as an episode, and the file it is from."""

    path: Path
    jobs: Workload

    @property
    def kind(self) -> str:
        """How many jobs it has."""
        return "busy" if len(self.jobs) >= BUSY else "ordinary"


def days_in(inputs: Path, folders: Iterable[str], platform: Platform) -> list[Day]:
    """The days in these folders, by their numbers."""
    return [
        Day(path, episode(Workload.read(path, time_unit="minutes"), platform)) for path in day_files(inputs, folders)
    ]


def measured(platform: Platform, days: Sequence[Day], policy: str) -> Iterator[dict[str, Any]]:
    """A row for each day: waste (W·min by node), switches, mean stretch, and what else :func:`of_day` says."""
    for seed, day in enumerate(days):
        yield _row(day, policy, run_day(platform, day.jobs, policy, seed))


def taught(config: Config, days: Sequence[Day]) -> Iterator[dict[str, Any]]:
    """The same of the teacher that the agents begin with, in the environment that they learn in."""
    platform, rules = MakeEnvironment.of(config.environment)().episodes.platform, rules_of(config.environment)
    for seed, day in enumerate(days):
        yield _row(day, TEACHER, play_taught(Episode(platform, day.jobs, seed, **rules), config))


def _row(day: Day, policy: str, result: Result) -> dict[str, Any]:
    counted = of_day(result)
    return {
        "day": f"{day.path.parent.name}/{day.path.stem}",
        "days": day.kind,
        "policy": policy,
        "stretch": counted["stretches"] / counted["started"] if counted["started"] else 0.0,
        **counted,
    }


def split(days: Sequence[Day]) -> tuple[list[Day], list[Day]]:
    """To learn from, and to choose by: every fifth busy day and every fifth ordinary one."""
    parts = [split_days([day for day in days if day.kind == kind], 0, 5) for kind in ("busy", "ordinary")]
    return [day for part in parts for day in part[0]], [day for part in parts for day in part[1]]


def training(inputs: Path, days: Path, seeds: int) -> Config:
    """How the agents learn, from the days in the folders ``train`` and ``validation`` there."""
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
                "constraint": {"limit": LIMIT, "learning_rate": 0.5, "proportional": 1.0, "initial": 1.0},
                "options": {
                    "gamma": 0.98, "lam": 0.9, "actor_lr": 2e-3, "critic_lr": 2e-3, "entropy": 0.0,
                    "epochs": 4, "minibatch": 512, "target_kl": 0.02,
                },
            },
            "iterations": 12,
            "episodes": 16,
            "workers": 1,
            "seeds": seeds,
            "objective": "energy_waste_j",
            "validation": {"workload": str(days / "validation"), "every": 6, "episodes": 48, **common},
            "warm_start": {
                "teacher": "summed-stretch:soft=0.15,hard=0.2,linger=0",
                "episodes": 48,
                "options": {"epochs": 5, "smoothing": 0.05, "minibatch": 128, "actor_lr": 3e-3, "critic_lr": 3e-3},
            },
        }
    )  # fmt: skip


def lay_out(parts: dict[str, Sequence[Day]], folder: Path) -> None:
    """The days as files to learn from, in a folder for each part."""
    for name, days in parts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for day in days:
            shutil.copy(day.path, folder / name / f"{day.kind}_{day.path.parent.name}_{day.path.name}")


def markdown(runs: pd.DataFrame, limit: float = LIMIT) -> str:
    """Tables of busy and ordinary days, all and those that the base keeps; differences to the rule are paired by day."""
    lines = []
    kept = runs[(runs["policy"] == BASE) & (runs["stretch"] <= limit)]["day"]
    rule = next(name for name in runs["policy"] if name.startswith("summed-stretch"))
    for kind in ("ordinary", "busy"):
        for told, rows in (("all", runs), (f"those on which `{BASE}` keeps the limit", runs[runs["day"].isin(kept)])):
            lines += ["", *_table(rows[rows["days"] == kind], f"{kind} days, {told}", rule)]
    return "\n".join(lines)


def _table(rows: pd.DataFrame, title: str, rule: str) -> list[str]:
    wide = {name: rows.pivot(index="day", columns="policy", values=name) for name in ("waste", "switches", "stretch")}
    totals = rows.groupby("policy")[["stretches", "started", "unfinished"]].sum()
    lines = [
        f"{len(wide['waste'])} {title}",
        "",
        "| policy | waste, W·min a day | less than the rule, % | switches a day | mean stretch of a day | of a job | not over |",
        "|---|---|---|---|---|---|---|",
    ]
    for policy in dict.fromkeys(rows["policy"]):
        saved = 100.0 * (wide["waste"][rule] - wide["waste"][policy]) / wide["waste"][rule].mean()
        around = half_width(np.column_stack([saved, wide["stretch"][policy]]))
        total = totals.loc[policy]
        cells = [
            f"`{policy}`",
            f"{wide['waste'][policy].mean():,.0f}",
            "" if policy == rule else f"{saved.mean():.1f} ± {around[0]:.1f}",
            f"{wide['switches'][policy].mean():.1f}",
            f"{wide['stretch'][policy].mean():.3f} ± {around[1]:.3f}",
            f"{total['stretches'] / total['started']:.3f}",
            f"{total['unfinished']:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Agents and tables.")
@click.option("--seeds", type=click.IntRange(2), default=3, show_default=True, help="Trainings.")
def main(inputs: Path, out: Path, seeds: int) -> None:
    """Choose a threshold, train agents, and print what they do on days that nothing was chosen by."""
    platform = taurus(inputs)
    released = days_in(inputs, (*BUSY_DAYS, *ORDINARY_DAYS["train"]), platform)
    base = {row["day"]: row["stretch"] for row in measured(platform, released, BASE)}
    to_learn, to_choose = split([day for day in released if base[f"{day.path.parent.name}/{day.path.stem}"] <= LIMIT])
    sampled = to_learn[::4]
    keeping = []
    for threshold in THRESHOLDS:
        stretch = np.mean([row["stretch"] for row in measured(platform, sampled, f"summed-stretch:{threshold:g}")])
        click.echo(f"summed-stretch:{threshold:g} on {len(sampled)} days to learn from: mean stretch {stretch:.3f}")
        if stretch > LIMIT:
            break
        keeping.append(threshold)
    if not (out / "days").exists():
        lay_out({"train": to_learn, "validation": to_choose}, out / "days")
    config = training(inputs, out / "days", seeds)
    train(config, out / "agents", resume=True)
    agents = {f"learned:{folder}": f"agent, {folder.parent.name}" for folder in sorted(find_agents(out / "agents"))}
    tested = days_in(inputs, ORDINARY_DAYS["test"], platform)
    policies = [f"summed-stretch:{max(keeping):g}", *agents, BASE, *OTHERS]
    rows = [row for policy in policies for row in measured(platform, tested, policy)]
    runs = pd.DataFrame([*rows, *taught(config, tested)])
    runs["policy"] = runs["policy"].replace(agents)
    with atomic_files(out / "runs.csv") as aside:
        runs.to_csv(aside(out / "runs.csv"), index=False)
    click.echo(markdown(runs))


if __name__ == "__main__":
    main()
