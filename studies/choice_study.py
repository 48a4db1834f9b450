"""Agents that choose the next job, on other logs and machines: ``python -m studies.choice_study [INPUTS] --out FOLDER``.

INPUTS holds ``traces``. In JobChoice, RLScheduler's setting, agents learn on windows of the first half of each of five logs, on
a machine for that log, with and without a teacher, with other features and with self-imitation; and, without a teacher, on those
of four logs together, to be tested on the fifth, and of all five; beside these, for as long on one log alone. All are
tested on 20 windows of the second half of every log, on its machine and on one with half as many cores again. Rules are tuned on
windows of the first half. Recorded windows of KIT and NASA leave nothing to choose on their machines: theirs have a quarter and
half of the cores here, without the few jobs that are wider. FOLDER receives logs, agents and tables; what is there is
not made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from analysis.tables.backfilling import METRICS, SLOWDOWN
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.records.intervals import geometric_change, paired_change
from learning.tasks.episode_metrics import quick_metrics
from learning.tasks.episodes import spread
from learning.training.agent import BEST
from learning.training.configuration import Config
from learning.training.training import train_one, untrained
from studies.backfilling_study import COMMITTED, ORDERS, windows
from studies.constraint_study import kept_in
from studies.room_study import LOGS
from studies.shutdown_study import INPUTS

CORES = {name: cores for name, (_, cores) in LOGS.items()} | {"kit": 6012, "nasa": 64}
FILES = {name: file for name, (file, _) in LOGS.items()} | {"nasa": "NASA-iPSC-1993-3.1-cln.swf.gz"}
WINDOW, WINDOWS = 128, 20
MACHINES = {"its own machine": 1.0, "half as many cores again": 1.5}
"""Cores, as a multiple of :data:`CORES`."""
TAUGHT, UNTAUGHT, LONGER = "taught", "without a teacher", "without a teacher for longer"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    TAUGHT: {"actor_lr": 2e-3},
    UNTAUGHT: {},
    "without ranks": {"observation": "without-ranks"},
    "RLScheduler's features": {"observation": "rlscheduler"},
    "self-imitation": {"self_imitation": 16},
    LONGER: {},
}
"""What agents learn with, by name: options of PPO, and the observation."""
OTHERS, ALL = "from the four others together", "from all five together"
ALONE = "from each of the four others alone for longer"
RANDOM, UNTRAINED = "random", "untrained"
SAME = 1e-6
"""Changes, in %, below which schedules are told to be the same."""


@dataclass(frozen=True)
class Log:
    """A log: the jobs to learn from, windows of them to tune on, and later windows to test on."""

    name: str
    early: Workload
    tuned: Sequence[Workload]
    tested: Sequence[Workload]

    def machine(self, times: float = 1.0) -> Platform:
        """One-core nodes, as many as it takes."""
        return Platform.homogeneous(nodes=1, cores=round(times * CORES[self.name]))


def read_log(inputs: Path, name: str) -> Log:
    """A log without jobs that are too wide, cut in half, or so that the later part is long enough."""
    file, machine = FILES[name], Platform.homogeneous(nodes=1, cores=CORES[name])
    jobs = Workload.read(inputs / "traces" / file).fit_to(machine, "drop")
    cut = min(len(jobs) // 2, len(jobs) - WINDOWS * WINDOW)
    tuned, tested = (spread(windows(jobs, *part, WINDOW), WINDOWS) for part in ((0, cut), (cut, len(jobs))))
    return Log(name, jobs.first(cut), tuned, tested)


def played(machine: Platform, jobs: Sequence[Workload], spec: str, seed: int = 0) -> Iterator[dict[str, Any]]:
    """A row for each window: what a scheduler makes of it."""
    scheduler = make_scheduler(spec)
    for number, window in enumerate(jobs):
        simulation = Simulation(machine, window, scheduler, seed=seed)
        simulation.run()
        found = quick_metrics(simulation)
        yield {"window": number, **{name: found[name] for name in METRICS}}


def geometric_mean(rows: pd.DataFrame) -> float:
    """Return the geometric mean of the slowdowns of windows."""
    return float(np.exp(np.log(rows[SLOWDOWN]).mean()))


def tuning(log: Log, times: float, folder: Path) -> dict[str, float]:
    """The geometric mean of slowdowns of each order on the windows to tune on."""
    machine = log.machine(times)
    return {
        order: geometric_mean(kept_in(folder, order, lambda: played(machine, log.tuned, COMMITTED.format(order))))  # noqa: B023 - at once
        for order in ORDERS
    }


def least(*means: Mapping[str, float]) -> str:
    """The order with the least of them; of several logs, with the least geometric mean over them."""
    return min(means[0], key=lambda order: sum(np.log(of[order]) for of in means))


def change_over_logs(rows: Mapping[str, pd.DataFrame], policy: str, against: Mapping[str, str]) -> dict[str, float]:
    """By how many % a policy's geometric mean of slowdowns over the windows of all logs is above that of others.

    ``rows`` are those of :func:`tested` by log; ``against`` names the other policy on each log. ``ratio``, ``ratio_low`` and
    ``ratio_high`` are the change and its interval, as :func:`compared` has them for a single log.
    """

    def slowdowns(policies: Mapping[str, str]) -> np.ndarray:
        return np.concatenate([by_window(of[of["policy"] == policies[name]])[1] for name, of in rows.items()])

    found = geometric_change(slowdowns(dict.fromkeys(rows, policy)), slowdowns(against))
    return dict(zip(("ratio", "ratio_low", "ratio_high"), found, strict=True))


def file_of(out: Path, name: str) -> Path:
    """Return where the jobs of a log to learn from lie."""
    return out / "logs" / f"{name}.swf"


def training(names: Sequence[str], out: Path, variant: str, teacher: str, seed: int) -> Config:
    """How an agent learns from a log, or for longer from several, each on its machine.

    One of :data:`LONGER` learns for as long, and is chosen on as many early windows, as one that learns from four logs.
    """
    long = len(names) > 1 or variant == LONGER
    first, *others = [
        {"platform": f"homogeneous:nodes=1,cores={CORES[name]}", "workload": str(file_of(out, name))} for name in names
    ]
    options = dict(VARIANTS[variant])
    observation = options.pop("observation", "default")
    warm = {"teacher": teacher, "episodes": 16, "options": {"epochs": 10, "smoothing": 0.03}}
    return Config.model_validate(
        {
            "environment": {
                "kind": "job-choice",
                **first,
                "trajectories": {"length": WINDOW},
                "reward": "bounded-slowdown:against=fcfs,waiting=yes",
                "observation": observation,
                **({"also": others} if others else {}),
            },
            "algorithm": {
                "options": {
                    "gamma": 0.9, "lam": 0.9, "actor_lr": 1e-2, "critic_lr": 1e-2, "entropy": 0.0,
                    "epochs": 8, "minibatch": 128, "target_kl": 0.05, **options,
                },
            },
            "network": "scorer:hidden=16",
            "iterations": 16 if long else 12,
            "episodes": 30 if long else 16,
            "group": 15 if long else 16,
            "workers": 1,
            "seed": seed,
            "baselines": [COMMITTED.format("fcfs")],
            "validation": {"every": 4, "episodes": WINDOWS * (len(FILES) - 1 if variant == LONGER else len(names))},
            **({"warm_start": warm} if variant == TAUGHT else {}),
        }
    )  # fmt: skip


def learned(name: str, teacher: str, seeds: int, out: Path) -> dict[tuple[str, int], Path]:
    """The agents of each variant and seed that learned from a log, trained where they are not yet there."""
    return {
        (variant, seed): trained(training([name], out, variant, teacher, seed), out, f"{name}/{plain(variant)}", seed)
        for variant in VARIANTS
        for seed in range(seeds)
    }


def learned_from_several(seeds: int, out: Path) -> dict[str, dict[tuple[str, int], Path]]:
    """By log to be tested on, the agents of each seed that learned from the four others, and from all."""
    agents: dict[str, dict[tuple[str, int], Path]] = {name: {} for name in FILES}
    for seed in range(seeds):
        for name, of in agents.items():
            others = [other for other in FILES if other != name]
            of[OTHERS, seed] = trained(training(others, out, UNTAUGHT, "", seed), out, f"without-{name}", seed)
        of_all = trained(training(list(FILES), out, UNTAUGHT, "", seed), out, "together", seed)
        for of in agents.values():
            of[ALL, seed] = of_all
    return agents


def trained(config: Config, out: Path, name: str, seed: int) -> Path:
    """The folder of the best agent of a training."""
    folder = out / "agents" / name / f"seed-{seed}"
    summary = train_one(config, folder, resume=True)
    click.echo(f"{folder}: {summary.reduction_by_episode:.1f} % below fcfs after {summary.best_iteration}")
    return folder / BEST


def plain(name: str) -> str:
    """A name as that of a file."""
    return name.replace(" ", "-").replace("'", "")


def tested(
    log: Log,
    times: float,
    out: Path,
    agents: Mapping[str, Mapping[tuple[str, int], Path]],
    agents_of_several: Mapping[tuple[str, int], Path],
) -> pd.DataFrame:
    """The rows of all on a log's later windows on a machine: rules, random choice, and agents by the log they learned from.

    Among them ``agents_of_several``, which have learned from several logs. These, and those with other features or with
    self-imitation, play only where the machine is the log's own.
    """
    folder = out / "tested" / f"{log.name}-{times:g}"
    seeds = 1 + max(seed for _, seed in agents[log.name])
    machine, tables = log.machine(times), []

    def add(policy: str, learned_on: str, seed: int, spec: str) -> None:
        name = plain(f"{policy}-{learned_on}-{seed}")
        rows = kept_in(folder, name, lambda: played(machine, log.tested, spec, seed))
        tables.append(rows.assign(policy=policy, learned_on=learned_on, seed=seed))

    for order in ORDERS:
        add(order, "", 0, COMMITTED.format(order))
    for seed in range(seeds):
        add(RANDOM, "", seed, COMMITTED.format("random"))
        add(UNTRAINED, "", seed, f"learned:{out / 'agents' / UNTRAINED / f'seed-{seed}'}")
    for name, of in agents.items():
        for (variant, seed), agent in of.items():
            if variant in (TAUGHT, UNTAUGHT) or times == 1.0:
                add(variant, name, seed, f"learned:{agent}")
    for (policy, seed), agent in agents_of_several.items() if times == 1.0 else ():
        add(policy, "", seed, f"learned:{agent}")
    rows = pd.concat(tables, ignore_index=True)
    alone = rows[(rows["policy"] == LONGER) & (rows["learned_on"] != log.name)]
    # the agents of four logs stand as twenty seeds of one policy
    numbers = alone.groupby(["learned_on", "seed"], sort=False).ngroup()
    return pd.concat([rows, alone.assign(policy=ALONE, learned_on="", seed=numbers)], ignore_index=True)


def by_window(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of one policy over seeds of each window, shape (windows, metrics), geometric ones of slowdowns, and
    all of these.
    """
    single = rows.pivot(index="window", columns="seed", values=SLOWDOWN).to_numpy()
    return rows.groupby("window")[list(METRICS)].mean().to_numpy(), np.exp(np.log(single).mean(axis=1)), single


def compared(rows: pd.DataFrame, order: str) -> pd.DataFrame:
    """A row for each policy and log that it learned from: what it makes of the windows, against an order or random choice.

    ``geometric`` is the geometric mean of slowdowns, ``ratio``, ``ratio_low`` and ``ratio_high`` its change in % and the
    interval of that, ``least`` and ``most`` the same change of single seeds; for each of :data:`METRICS` there is the mean, its
    change in % and half its interval. Intervals are over windows, of means over seeds.
    """
    first, slowdowns, _ = by_window(rows[rows["policy"] == order])
    found = []
    for (policy, learned_on), of in rows.groupby(["policy", "learned_on"], sort=False):
        means, geometric, single = by_window(of)
        of_seeds = [geometric_change(one, slowdowns)[0] for one in single.T]
        changes, halves = paired_change(means, first)
        row = {"policy": policy, "learned_on": learned_on, "seeds": len(of_seeds), "geometric": geometric_mean(of)}
        row |= dict(zip(("ratio", "ratio_low", "ratio_high"), geometric_change(geometric, slowdowns), strict=True))
        row |= {"least": min(of_seeds), "most": max(of_seeds)}
        for place, name in enumerate(METRICS):
            row |= {name: means[:, place].mean(), f"{name}_change": changes[place], f"{name}_half": halves[place]}
        found.append(row)
    return pd.DataFrame(found)


def markdown(table: pd.DataFrame, order: str) -> str:
    """A row for each policy: means, and the changes in % to the order, with 95 % intervals paired by window."""
    lines = [
        "| learned from | policy | slowdown, geometric mean | single seeds | mean slowdown | mean wait, s | 95 % wait less, s "
        "| longest wait, s | makespan, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table.to_dict("records"):
        cells = [row["learned_on"], row["policy"], f"{row['geometric']:.2f}", ""]
        values = [f"{row[name]:,.{0 if place else 1}f}" for place, name in enumerate(METRICS)]
        if row["policy"] != order:
            cells[2] += f" ({_ratio(row)})"
            cells[3] = f"{row['least']:+.1f} to {row['most']:+.1f}" if row["seeds"] > 1 else ""
            values = [
                f"{value} ({row[f'{name}_change']:+.1f} ± {row[f'{name}_half']:.1f})"
                for value, name in zip(values, METRICS, strict=True)
            ]
        lines.append(f"| {' | '.join(cells + values)} |")
    return "\n".join(lines)


def _ratio(row: Mapping[Any, Any]) -> str:
    if abs(row["ratio_low"]) + abs(row["ratio_high"]) < SAME:
        return "the same"
    return f"{row['ratio']:+.1f}: {row['ratio_low']:+.1f} to {row['ratio_high']:+.1f}"


def matrix(tables: Mapping[str, pd.DataFrame], policies: Mapping[str, tuple[str, str]]) -> str:
    """Policies, each the policy and the log that it learned from, by logs tested on.

    In % the change of the geometric mean of slowdowns to what the tables compare with, and its interval.
    """
    lines = [f"| | {' | '.join(tables)} |", f"|---|{'---|' * len(tables)}"]
    for name, (policy, learned_on) in policies.items():
        cells = []
        for table in tables.values():
            [row] = table[(table["policy"] == policy) & (table["learned_on"] == learned_on)].to_dict("records")
            cells.append(_ratio(row))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Logs, agents and tables.")
@click.option("--seeds", type=click.IntRange(2), default=5, show_default=True, help="Trainings of each kind.")
def main(inputs: Path, out: Path, seeds: int) -> None:
    """Train agents on five logs, test them on all, and print the tables of docs/results/other-logs.md."""
    logs = [read_log(inputs, name) for name in FILES]
    means = {
        (log.name, times): tuning(log, times, out / "tuned" / f"{log.name}-{times:g}")
        for log in logs
        for times in MACHINES.values()
    }
    tuned = {where: least(of) for where, of in means.items()}
    of_others = {name: least(*(means[other, 1.0] for other in FILES if other != name)) for name in FILES}
    for log in logs:
        if not (file := file_of(out, log.name)).exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            log.early.write(file)
    agents = {log.name: learned(log.name, tuned[log.name, 1.0], seeds, out) for log in logs}
    agents_of_several = learned_from_several(seeds, out)
    for seed in range(seeds):
        config = training([logs[0].name], out, UNTAUGHT, "", seed)
        untrained(config).save(out / "agents" / UNTRAINED / f"seed-{seed}")
    for machine, times in MACHINES.items():
        tables, to_random, to_brought, to_plain, to_others, found = {}, {}, {}, {}, {}, {}
        for log in logs:
            rule = tuned[log.name, times]
            rows = found[log.name] = tested(log, times, out, agents, agents_of_several[log.name])
            tables[log.name], to_random[log.name] = compared(rows, rule), compared(rows, RANDOM)
            to_others[log.name] = compared(rows, of_others[log.name])
            to_plain[log.name] = pd.concat(compared(rows[rows["learned_on"] == name], UNTAUGHT) for name in agents)
            to_brought[log.name] = pd.concat(
                compared(rows[(rows["learned_on"] == name) | (rows["policy"] == brought)], brought)
                for name in agents
                for brought in (tuned[name, 1.0],)
            )
            click.echo(f"\n{log.name}, {machine}; the rule tuned there is {rule}\n\n{markdown(tables[log.name], rule)}")
        policies = {f"rule of {log.name}, {tuned[log.name, 1.0]}": (tuned[log.name, 1.0], "") for log in logs}
        policies |= {name: (name, "") for name in (RANDOM, UNTRAINED, OTHERS, ALL, ALONE)}
        policies |= {f"{variant}, {name}": (variant, name) for variant in VARIANTS for name in agents}
        first = tables[logs[0].name]
        there = set(zip(first["policy"], first["learned_on"], strict=True))
        shown = {name: pair for name, pair in policies.items() if pair in there}
        click.echo(f"\n{machine}: change to the rule tuned there, %\n\n{matrix(tables, shown)}")
        click.echo(f"\n{machine}: change to random choice, %\n\n{matrix(to_random, shown)}")
        learned_ones = {name: pair for name, pair in shown.items() if pair[1]}
        click.echo(f"\n{machine}: change to the rule brought along, %\n\n{matrix(to_brought, learned_ones)}")
        click.echo(f"\n{machine}: change to those {UNTAUGHT} from the same log, %\n\n{matrix(to_plain, learned_ones)}")
        from_several = {name: (name, "") for name in (OTHERS, ALL, ALONE) if (name, "") in there}
        if not from_several:
            continue
        told = ", ".join(f"{order} for {name}" for name, order in of_others.items())
        click.echo(
            f"\n{machine}: change to the rule tuned on the four others, {told}, %\n\n{matrix(to_others, from_several)}\n"
        )
        rules = {name: tuned[name, times] for name in FILES}
        policies_of = {
            "rules tuned there": rules,
            "rules of the others": of_others,
            RANDOM: dict.fromkeys(FILES, RANDOM),
        }
        for policy in from_several:
            for against, policy_of in policies_of.items():
                click.echo(f"all windows, {policy}, to {against}: {_ratio(change_over_logs(found, policy, policy_of))}")


if __name__ == "__main__":
    main()
