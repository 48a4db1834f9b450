"""Evaluation of agents: the papers' tables, against every heuristic, over test runs and over training seeds.

López (2023, Tables 4.6 to 4.18) gives the least, mean and greatest reduction of a metric with respect to the best
heuristic, over 100 test runs in which the agent samples its actions. :func:`evaluate` gives them against each heuristic,
beside the greedy run, and with the spread over training seeds, which tells luck from learning::

    reduction = 100 · (1 - metric of the agent / metric of the heuristic) %, in the same case

Cases that the agent has not been trained on, such as windows of a log or days left out, are
:class:`~learning.tasks.episodes.Episode`.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from annotated_types import Ge
from typing_extensions import Doc

from cluster_sim.errors import InputError, ModelWarning, UnfamiliarWarning, counted, naming, unfamiliar_to
from cluster_sim.executors import Workers
from cluster_sim.files.atomic import atomic_files
from cluster_sim.files.json_values import for_json
from cluster_sim.files.source import load, running_no_new_files, source_of
from cluster_sim.options import checked
from cluster_sim.records.assumptions import merged, of_inputs
from cluster_sim.records.comparison import Comparison, Difference, Effect, named
from cluster_sim.records.intervals import FEWEST_BLOCKS, ComparisonVerdict, told_apart
from cluster_sim.run.progress import Progress
from cluster_sim.run.settings import TIME_UNITS, part_of
from cluster_sim.workload.executed_days import all_as_executed
from cluster_sim.workload.fields import label_of, unit_of
from cluster_sim.workload.workload import Workload
from learning.algorithms.workers import map_in_order, processes
from learning.tasks.episodes import Days, Episode, Trajectories, spread, whole_pieces
from learning.training.agent import Agent, find_agents, trusted
from learning.training.configuration import EnvironmentKeys
from learning.training.heuristics import (
    ENDED,
    HEURISTICS,
    LIST_HEURISTICS,
    REWARD,
    WHICH,
    Ended,
    check_minimised,
    ended,
    metric_of,
    of_other_jobs,
    policies,
    run_on,
    switches_nodes,
)
from learning.training.inputs import read_folder, read_platform, rules_of

_VERDICTS = {str(each): str(each) for each in ComparisonVerdict} | {str(ComparisonVerdict.VALUES): "too few cases"}
BEST_CLASSIC = "the best of López's list heuristics"
BEST = "the best heuristic"
BEST_OF_EACH = "the best heuristic of each case"
GREEDY, SAMPLED = "greedy", "sampled"
_COLUMNS = (
    *("metric", "against", "value", "min", "mean", "max", "spread"),
    *("greedy_min", "greedy_mean", "greedy_max", "greedy_spread", "change", "change_around", "verdict"),
)


@dataclass
class Evaluation:
    """Measurements of agents and heuristics.

    Attributes
    ----------
    runs : one row per run of an agent: ``training_seed``, ``case``, ``mode`` (greedy or sampled), ``seed`` of the run,
        the metrics, ``jobs_completed``, ``jobs_killed``, and ``jobs_ended_crc``, which is equal if the same jobs ended.
    heuristics : one row per heuristic and case: ``heuristic``, ``case``, the metrics and the same counts of jobs.
    metrics : names of the metrics; the least is the best.
    meta : the agents and their trainings.
    """

    runs: pd.DataFrame
    heuristics: pd.DataFrame
    metrics: tuple[str, ...]
    meta: dict[str, Any] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """Return a row per metric and heuristic, the best first, with the reductions of the module's docstring in %.

        Columns: ``metric``, ``against``, ``value`` (its mean over the cases), ``min``, ``mean``, ``max`` (over all runs
        in which agents sample), ``spread`` (standard deviation over training seeds of their means), and the same of the
        greedy runs: ``greedy_min``, ``greedy_mean``, ``greedy_max``, ``greedy_spread``. ``change`` compares the greedy
        runs, as means of all seeds in each case, with the heuristic: by how many % their mean over cases is above it
        (below: negative). ``change_around`` is the half-width of its 95 % interval, paired by case. ``verdict`` says
        whether the agents' metric is less, more, or not shown to differ
        (:class:`~cluster_sim.records.intervals.ComparisonVerdict`).
        """
        rows = []
        for metric in self.metrics:
            values = self._values(metric)
            references = {}
            for name, classic in ((BEST_CLASSIC, True), (BEST, False)):
                if best := self.best_heuristic(metric, classic):
                    references[f"{name}: {best}"] = values.loc[best]
            if values.shape[1] > 1:
                references[BEST_OF_EACH] = values.min()
            for heuristic in values.mean(axis=1).sort_values(kind="stable").index:
                references[heuristic] = values.loc[heuristic]
            for against, reference in references.items():
                rows.append({"metric": metric, "against": against} | self._reductions(metric, reference))
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def value(self, metric: str, mode: str = GREEDY) -> float:
        """Return the agents' mean of a metric: over the runs of each case, then over the cases, as for heuristics."""
        runs = self.runs[self.runs["mode"] == mode]
        return float(runs.groupby("case")[metric].mean().mean())

    def best_heuristic(self, metric: str, classic: bool = False) -> str:
        """Return the heuristic with the least mean ratio to each case's best one; the first of equals.

        With ``classic`` only the list schedulers of López (2023), Table 4.1, count, with which the papers compare; ""
        if there is none.
        """
        values = self._values(metric)
        if classic:
            values = values[values.index.isin(LIST_HEURISTICS)]
        return str(_ratio(values, values.min()).mean(axis=1).idxmin()) if len(values) else ""

    def _values(self, metric: str) -> pd.DataFrame:
        """Return a table with a row for each heuristic and a column for each case."""
        table = self.heuristics.pivot(index="heuristic", columns="case", values=metric)
        return table.loc[list(dict.fromkeys(self.heuristics["heuristic"]))]

    def _reductions(self, metric: str, reference: Any) -> dict[str, Any]:
        """Return a summary of the reductions of every run against the heuristic's value in its case."""
        reduction = 100.0 * (1.0 - _ratio(self.runs[metric], self.runs["case"].map(reference)))
        numbers = {"value": float(reference.mean())}
        for mode, prefix in ((SAMPLED, ""), (GREEDY, "greedy_")):
            chosen = reduction[self.runs["mode"] == mode]
            seeds = chosen.groupby(self.runs["training_seed"]).mean()
            with np.errstate(invalid="ignore"):  # infinite against a heuristic with the value 0
                spread = float(seeds.std(ddof=1)) if len(seeds) > 1 else math.nan
            numbers[f"{prefix}min"], numbers[f"{prefix}mean"] = float(chosen.min()), float(seeds.mean())
            numbers[f"{prefix}max"] = float(chosen.max())
            numbers[f"{prefix}spread"] = spread
        effect = self._effect(metric, "", reference)
        half = 50 * (effect.high - effect.low) / abs(effect.base) if effect.base else math.nan
        return numbers | {"change": effect.relative, "change_around": half, "verdict": str(effect.verdict)}

    def _effect(self, metric: str, against: str, reference: Any) -> Effect:
        """Return the effect of the agents' greedy runs, means of all seeds by case, against a value per case."""
        runs = self.runs[self.runs["mode"] == GREEDY].groupby("case")[metric].mean()
        pair = runs.to_numpy(float), reference[runs.index].to_numpy(float)
        names = f"the agent, {GREEDY}", against
        return Effect.paired(metric, label_of(metric), unit_of(metric), names, pair, block="case")

    def _equals(self, metric: str) -> dict[str, list[str]]:
        """Return the heuristics, best mean first, grouped if equal in every case; keys are each group's first."""
        values = self._values(metric)
        found: dict[bytes, list[str]] = {}
        for name in values.mean(axis=1).sort_values(kind="stable").index:
            found.setdefault(values.loc[name].to_numpy(float).tobytes(), []).append(str(name))
        return {names[0]: names for names in found.values()}

    @property
    def comparison(self) -> Comparison:
        """Compare the agents' greedy runs with each heuristic, metric by metric; equal heuristics are one."""
        effects: list[Effect] = []
        cautions: list[str] = []
        for metric in self.metrics:
            values = self._values(metric)
            for name, equals in self._equals(metric).items():
                called = name
                if len(equals) > 1:
                    called += f" = {equals[1]}" if len(equals) == 2 else f" and {len(equals) - 1} equal to it"
                effects.append(self._effect(metric, called, values.loc[name]))
            best, tied, _ = told_apart({str(name): values.loc[name].to_numpy(float) for name in values.index})
            if tied:
                label = label_of(metric).capitalize()
                text = f"{label} does not tell the best heuristic, {best[0]}, from {named(tied)} in these cases."
                cautions.append(text)
        others = tuple(dict.fromkeys(self.heuristics["heuristic"]))
        differences = (Difference("who decides", "the agent", others),) if others else ()
        if told := self.unlike():
            cautions.append(f"{told[:1].upper()}{told[1:]}.")
        return Comparison(("the agent", *others), differences, (), tuple(effects), cautions=tuple(cautions))

    def unlike(self) -> str:
        """Say that runs of the agents, greedy or sampled, ended other jobs than heuristics in the same case; "" if none did.

        Metrics of runs that ended different jobs, such as runs that are cut off, cannot be compared well.
        """
        if not all(name in table for table in (self.runs, self.heuristics) for name in ENDED):
            return ""
        others: dict[int, dict[str, Ended]] = {}
        for row in self.heuristics.to_dict("records"):
            others.setdefault(row["case"], {})[row["heuristic"]] = ended(row)
        return of_other_jobs(
            (
                (
                    f"case {row['case']}, {row['mode']}, training seed {row['training_seed']}, seed {row['seed']}",
                    ended(row),
                    others.get(row["case"], {}),
                )
                for row in self.runs.to_dict("records")
            ),
            "run",
        )

    def text(self) -> str:
        """Return the table for people: a description, then a line for each heuristic."""
        seeds, cases = self.runs["training_seed"].nunique(), self.runs["case"].nunique()
        sampled = int((self.runs["mode"] == SAMPLED).sum())
        lines = [
            f"{counted(seeds, 'training seed')}, {counted(cases, 'case')}, {counted(sampled, 'test run')} with sampled actions, "
            f"{len(self.runs) - sampled:,} greedy",
            *(self.comparison.sentences if len(self.heuristics) else ()),
            "",
            "value: mean over the cases; min, mean, max: of the reductions in %, of each run in its case; positive is better",
            "than the heuristic; over several cases their mean is not the reduction of the mean; ±: standard deviation over",
            "training seeds of their means, in %; change: of the mean over the cases, greedy, in %, ± half of its 95 % interval,",
            f"paired by case (from {FEWEST_BLOCKS} cases on); negative is better; verdict: what that interval shows",
        ]
        table = self.table()
        for metric in self.metrics:
            equals = self._equals(metric)
            hidden = {name for names in equals.values() for name in names[1:]}
            shown = [row for row in table[table["metric"] == metric].to_dict("records") if row["against"] not in hidden]
            called = {name: f"{name} + {len(names) - 1} equal" for name, names in equals.items() if len(names) > 1}
            width = max(
                len(called.get(name, name)) for name in [*(row["against"] for row in shown), f"the agent, {SAMPLED}"]
            )
            unit = unit_of(metric)
            value = f"value [{unit}]" if unit else "value"
            heading = f"{'against':<{width}}  {value:>12}  {'min':>8} {'mean':>8} {'max':>8} {'±':>6} %"
            heading += f"  {'greedy min':>10} {'mean':>8} {'max':>8} {'±':>6} %  {'change':>18} %  verdict"
            lines += ["", metric, heading]
            for mode in (GREEDY, SAMPLED):
                lines.append(f"{f'the agent, {mode}':<{width}}  {self.value(metric, mode):>z12.6g}")
            for row in shown:
                lines.append(
                    f"{called.get(row['against'], row['against']):<{width}}  {row['value']:>z12.6g}  {_number(row['min'], 8)}"
                    f" {_number(row['mean'], 8)} {_number(row['max'], 8)} {_number(row['spread'], 6)}    "
                    f"{_number(row['greedy_min'], 10)} {_number(row['greedy_mean'], 8)} {_number(row['greedy_max'], 8)}"
                    f" {_number(row['greedy_spread'], 6)}    {_number(row['change'], 8)} ± {_number(row['change_around'], 7)}"
                    f"    {_VERDICTS[row['verdict']]}"
                )
            lines += [f"equal in every case: {' = '.join(names)}" for names in equals.values() if len(names) > 1]
        return "\n".join(lines)

    def save(self, folder: str | Path) -> None:
        """Write evaluation.csv, .txt and .json, runs.csv and heuristics.csv to a folder: all of them, or nothing."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        best = {metric: self.best_heuristic(metric) for metric in self.metrics}
        classic = {metric: self.best_heuristic(metric, classic=True) for metric in self.metrics}
        document = {
            "metrics": list(self.metrics),
            "best_heuristic": best,
            "best_list_heuristic": classic,
            "agent": {mode: {m: self.value(m, mode) for m in self.metrics} for mode in (GREEDY, SAMPLED)},
            "table": self.table().to_dict("records"),
            "comparison": self.comparison.to_dict(),
        } | self.meta
        seal = folder / "evaluation.json"
        with atomic_files(seal) as aside:
            aside(seal).write_text(json.dumps(for_json(document), indent=1, allow_nan=False) + "\n")
            aside(folder / "evaluation.txt").write_text(self.text() + "\n", encoding="utf-8")
            for name, frame in (("evaluation", self.table()), ("runs", self.runs), ("heuristics", self.heuristics)):
                frame.to_csv(aside(folder / f"{name}.csv"), index=False)


@checked
def evaluate(
    directory: str | Path,
    cases: Sequence[Episode],
    metrics: Annotated[
        Sequence[str],
        Doc(
            "keys of summary.json of which less is better; unless given, what the agents were trained to reduce;"
            " for agents that switch nodes, energy, stretch and switches"
        ),
    ] = (),
    heuristics: Annotated[
        Sequence[str] | None,
        Doc("specs of schedulers (for agents that switch nodes: of power policies) in place of all heuristics"),
    ] = None,
    runs: Annotated[int, Ge(0), Doc("test runs of each agent in which it samples its actions")] = 100,
    seed: Annotated[int, Ge(0), Doc("of the first test run")] = 0,
    workers: Workers = None,
    executor: Executor | None = None,
    progress: bool = False,
    also: Annotated[Sequence[str], Doc("specs of further heuristics, such as easy:order=sjf")] = (),
) -> Evaluation:
    """Run the agents of all training seeds in a folder, and heuristics, on every case.

    Args:
        directory: the folder of a training, or ``learned:DIR,trust=yes`` to run Python files that the agents name.
        cases: episodes to test on.
        heuristics: :data:`~learning.training.heuristics.HEURISTICS` unless given. With ``()`` there are only the agents'
            own values.
        runs: spread over the cases (at least one on each). Each has a seed of its own, from ``seed`` on; one greedy run on
            each case comes on top.
        executor: takes the place of ``workers``.
        progress: show the progress on stderr.

    Raises InputError without an agent, and for an unknown metric or heuristic. Warns (UnfamiliarWarning) once per agent
    that meets situations far from its training, with the first such case. Warns (ModelWarning) if runs of agents have
    not completed, or killed, the same jobs as heuristics in the same case.
    """
    folders, agents, chosen, specs = compared(directory, metrics, heuristics, also)
    kind, trust = agents[0].decides, trusted(directory)[1]
    if not isinstance(cases, Sequence) or not cases or not all(isinstance(case, Episode) for case in cases):
        raise InputError("evaluate, cases", "at least one episode, such as Days(…).all() has", cases)
    each = -(-runs // len(cases))
    tasks: list[_Task] = []
    for number, case in enumerate(cases):
        tasks += [_Task(number, case, spec, kind, agents[0].environment, trust, chosen, (seed,)) for spec in specs]
        for folder, agent in zip(folders, agents, strict=True):
            for sample in (False, True):
                spec = f"learned:{folder}" + ",sample=yes" * sample + ",trust=yes" * trust
                seeds = tuple(range(seed + number * each, seed + (number + 1) * each)) if sample else (seed,)
                training_seed = int(agent.facts["seed"])
                tasks.append(_Task(number, case, spec, kind, agent.environment, trust, chosen, seeds, training_seed))
    shown = Progress("evaluate", len(tasks), "tests", shown=progress)
    with shown, processes(workers, len(tasks), executor) as pool:
        ended = map_in_order(_run, tasks, pool, lambda _: shown.reach(shown.done + 1))
    unfamiliar: dict[str, UnfamiliarWarning] = {}
    for _, noted in ended:
        for one in noted:
            unfamiliar.setdefault(one.agent, one)
    for one in unfamiliar.values():
        warnings.warn(one, stacklevel=3)
    rows = [row for task, (rows, _) in zip(tasks, ended, strict=True) if task.training_seed is not None for row in rows]
    others = [row for task, (rows, _) in zip(tasks, ended, strict=True) if task.training_seed is None for row in rows]
    meta = {"agents": [str(folder) for folder in folders], "training": [agent.facts for agent in agents]}
    columns = ["heuristic", "case", *chosen, *ENDED, WHICH]
    found = Evaluation(pd.DataFrame(rows), pd.DataFrame(others, columns=columns), chosen, meta)
    if told := found.unlike():
        warnings.warn(told, ModelWarning, stacklevel=3)
    return found


def compared(
    directory: str | Path,
    metrics: Sequence[str] = (),
    heuristics: Sequence[str] | None = None,
    also: Sequence[str] = (),
) -> tuple[list[Path], list[Agent], tuple[str, ...], tuple[str, ...]]:
    """Return what :func:`evaluate` compares, not yet run: folders and agents by training seed, metrics, heuristics.

    Raises InputError without an agent, and for an unknown metric or heuristic.
    """
    seeds = [(int((agent := Agent.load(folder)).facts["seed"]), folder, agent) for folder in find_agents(directory)]
    _, folders, agents = map(list, zip(*sorted(seeds, key=lambda one: one[0]), strict=True))
    kind = agents[0].decides
    chosen = tuple(dict.fromkeys(metrics))
    if not chosen and kind == "both":
        chosen = ("energy_j", "mean_wait_s", "mean_stretch", "node_switches")
    elif not chosen and kind == "power":
        chosen = ("energy_waste_j", "mean_stretch", "node_switches")
    elif not chosen:
        objective = str(agents[0].facts["objective"])
        chosen = ("energy_j", "mean_bounded_slowdown") if objective == REWARD else (objective,)
    for metric in chosen:
        check_minimised("evaluate, metric", metric)
    specs = tuple(dict.fromkeys([*(HEURISTICS[kind] if heuristics is None else heuristics), *also]))
    for spec in specs:
        policies(spec, kind, agents[0].environment, trusted(directory)[1])
    return folders, agents, chosen, specs


@checked
def cases_of(
    directory: str | Path,
    workload: str,
    platform: str | None = None,
    *,
    first: int | None = None,
    time_unit: str | None = None,
    between: tuple[float, float] | None = None,
    length: Annotated[int | None, Ge(1), Doc("test on every piece of N consecutive jobs")] = None,
    count: Annotated[
        int | None, Ge(1), Doc("only N of these pieces, or of the days in a folder, evenly spread")
    ] = None,
) -> list[Episode]:
    """Return the cases of a test workload: all of it, or every piece of ``length`` jobs on a clock of its own.

    ``between``: only jobs submitted from … up to … (s). ``count``: only so many of the pieces, evenly spread over them.
    Jobs at the end that are too few for a piece are left out, and unless ``count`` is given a ModelWarning counts them.
    A folder of workloads is a folder of days, each a case, as in training; only ``count`` and ``time_unit`` go with it.
    The platform is the agent's own, unless another is named, with the rules of its training. Raises InputError, also if
    the agent was trained on several platforms and none is named.
    """
    keys = EnvironmentKeys.model_validate(Agent.load(find_agents(directory)[0]).environment)
    if platform is not None:
        if (own := source_of(platform)) is not None:
            load(own)  # the user names this file, the agent its models
        keys = keys.model_copy(update={"platform": platform})
    else:
        machines = dict.fromkeys([keys.platform, *(log.platform or keys.platform for log in keys.also or ())])
        if len(machines) > 1:
            several = ", ".join(map(str, machines))
            raise InputError("evaluate", "--platform P, for the agent was trained on several machines", several)
    if keys.platform is None:
        raise InputError("evaluate", "--platform P, for the agent names no machine that it was trained on")
    with running_no_new_files(unless=trusted(directory)[1]):
        machine = read_platform(keys)
    options = {} if time_unit is None else {"time_unit": TIME_UNITS.get(time_unit, time_unit)}
    if os.path.isdir(workload):
        days = all_as_executed(read_folder(workload, options, first, between, length), machine)
        found = Days(machine, days, **rules_of(keys)).all()
        return list(found) if count is None else spread(found, count)
    if count is not None and length is None:
        wanted = "--trajectories N with it, or a folder of days: else there is one case"
        raise InputError("evaluate, cases", wanted, count)
    with naming(workload):
        jobs = part_of(Workload.read(workload, **options), between, first)
    if not len(jobs):
        raise InputError(workload, "at least one job")
    episode = Episode(machine, jobs, **rules_of(keys))
    if length is None:
        return [episode]
    with naming(workload):
        pieces = whole_pieces(Trajectories(machine, jobs, length, **rules_of(keys)).all(), length)
    if count is not None:
        return spread(pieces, count)
    if left := len(jobs) % length:
        told = f"the last {counted(left, 'job')} of {len(jobs):,} left out, too few for a piece of {length:,}"
        warnings.warn(f"{workload}: {told}", ModelWarning, stacklevel=3)
    return pieces


def assumed(directory: str | Path, cases: Iterable[Episode]) -> list[str]:
    """Return the assumptions of runs on the cases (:mod:`cluster_sim.records.assumptions`), one line per kind."""
    agent = Agent.load(find_agents(directory)[0])
    power = (agent.environment.get("options") or {}).get("power")
    with running_no_new_files(unless=trusted(directory)[1]):
        switches = switches_nodes(agent.decides, None if power is None else str(power))
    return merged(of_inputs(case.platform, case.workload, switches=switches) for case in cases)


def _ratio(values: Any, references: Any) -> Any:
    """Return values / references of tables or series; 1 if both are 0, as a mean wait may be."""
    return (values / references).fillna(1.0)


def _number(value: float, width: int) -> str:
    """Return a reduction in % as text of that width; a dash without a number."""
    return f"{value:>z{width}.2f}" if math.isfinite(value) else f"{'-':>{width}}"


@dataclass(frozen=True)
class _Task:
    """Task: runs of one scheduler on one case."""

    number: int
    case: Episode
    spec: str
    kind: str
    environment: dict[str, Any]
    trust: bool
    metrics: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    training_seed: int | None = None


def _run(task: _Task) -> tuple[list[dict[str, Any]], list[UnfamiliarWarning]]:
    """Return a row for each run of a task, and the agent's warning, which is shown once for all tasks."""
    with warnings.catch_warnings():  # evaluate has already shown the warnings of the policies' files
        warnings.simplefilter("ignore", ModelWarning)
        scheduler, power = policies(task.spec, task.kind, task.environment, task.trust)
    rows, noted = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnfamiliarWarning)
        for seed in task.seeds:
            with naming(task.case.name or task.case.workload.name):
                summary = run_on(task.case, scheduler, power, seed)
                numbers: dict[str, Any] = {metric: metric_of(summary, metric) for metric in task.metrics}
                numbers |= {name: int(summary[name]) for name in (*ENDED, WHICH)}
                if task.training_seed is None:
                    labels: dict[str, Any] = {"heuristic": task.spec, "case": task.number}
                else:
                    mode = SAMPLED if ",sample=yes" in task.spec else GREEDY
                    labels = {"training_seed": task.training_seed, "case": task.number, "mode": mode, "seed": seed}
                rows.append(labels | numbers)
            noted += unfamiliar_to(scheduler, power)
    return rows, noted[:1]
