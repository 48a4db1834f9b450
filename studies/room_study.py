"""Tables of docs/results/orders.md on tuned rules: ``python -m studies.room_study [INPUTS] [--log NAME] [--seeds N]``.

INPUTS holds ``traces``. The last 55 % of each log are cut into 20 windows to test on; to learn from are windows of the same
length that begin with any job before them. Which of two schedulers is better in a window hangs on chance, so windows are shaken
(:meth:`~cluster_sim.Workload.shaken`): those to learn from once each, those to test on several times, of which the mean counts.
Of EASY and conservative in every order, the rule with the least slowdown is chosen. Beside it, with each of several seeds: of
many orders that are products of powers (``powers``), with room for short jobs and without, with jobs on trial and without (with
``--trials 0`` none has), and, where a log names several users, with what their jobs usually take and without, the one with the
least slowdown, where what it costs in mean wait and makespan beside that rule counts, too. All are drawn at random, and the worse
two thirds are given up after some windows, again and again (successive halving, Jamieson and Talwalkar 2016). At the start of a
window an order knows what had ended before in the log. What a job has run in vain, on trial, counts as waiting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

from analysis.tables.backfilling import METRICS, SLOWDOWN
from cluster_sim import Platform, Scheduler, Simulation, Workload, make_scheduler
from cluster_sim.records.intervals import geometric_change, paired_change
from cluster_sim.registry import Spec
from learning.tasks.episodes import consecutive
from schedulers import easy
from schedulers.queue.power_law_orders import powers
from schedulers.queue.usual_times import UsualTimes
from studies.backfilling_study import ORDERS, echo, least, mean, mean_of
from studies.shutdown_study import INPUTS

LOGS = {
    "lublin": ("lublin_256.swf.gz", 256),
    "kth": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "sdsc": ("SDSC-SP2-1998_pyss_5K_sample.swf.gz", 128),
    "kit": ("KIT-FH2-2016-1.first25326.derived.swf.gz", 24048),
}
"""Files of logs with requested times, and the processors of their machines."""
FIXED = ("fcfs", "sjf", "saf", "smallest", "f1")  # orders whose keys stay as they are
RULES = (*(f"easy:order={order}" for order in ORDERS), *(f"conservative:order={order}" for order in FIXED))
SHARES, SECONDS = (0.0, 0.01, 0.02, 0.03, 0.05), (300, 600, 1800, 3600, 14400)
TRIALS, TRIAL_S = 2, (60, 120, 300, 600)
TRIED, STAGES = 60, (10, 20, 40, 80)
"""How many are drawn, and after how many windows the worse are given up."""
KEPT = 3
"""One of so many goes on."""
PRICE = 5.0
"""So many % less slowdown are worth 1 % more wait, or 1 % more makespan."""
IDLE, STOPPED, LOST = "idle_wait_s", "stopped_on_trial", "work_lost"
REPORTED = (*METRICS, IDLE, STOPPED, LOST)
"""Of the later windows; also the wait without what was run in vain, and the shares of the jobs and of the work in that."""
TESTED, WINDOWS = 0.55, 20
SHAKEN_S, SHAKES = 120.0, 5
Runs = dict[str, list[Mapping[str, Any]]]
"""What schedulers reached in windows."""


@dataclass(frozen=True)
class Window:
    """Jobs of a log that follow each other, and what was known of its users when the first was submitted."""

    jobs: Workload
    known: UsualTimes

    def shaken(self, seed: int) -> Window:
        """Return the workload with its submissions moved."""
        return Window(self.jobs.shaken(SHAKEN_S, seed), self.known)


@dataclass(frozen=True)
class Log:
    """A log's machine, its jobs, and the first of its windows to test on; before that are jobs to learn from."""

    platform: Platform
    jobs: Workload
    cut: int

    @property
    def length(self) -> int:
        """Jobs of a window."""
        return (len(self.jobs) - self.cut) // WINDOWS

    def window(self, start: int) -> Window:
        """The window that begins with a job."""
        known = UsualTimes(self.jobs, float(self.jobs.columns["submit_time"][start]))
        return Window(consecutive(self.jobs, start, self.length), known)

    def tested(self) -> list[Window]:
        """One after the other, as they are."""
        return [self.window(start) for start in range(self.cut, len(self.jobs), self.length)]

    def learned(self, seed: int) -> list[Window]:
        """As many windows as the last stage needs, drawn of the earlier jobs and shaken."""
        starts = np.random.default_rng(seed).integers(self.cut - self.length + 1, size=STAGES[-1]).tolist()
        return [self.window(start).shaken(seed) for start in starts]

    @cached_property
    def tells_users(self) -> bool:
        """Whether it names several users."""
        return len(np.unique(self.jobs.columns["user"])) > 1


def read_log(inputs: Path, name: str) -> Log:
    """A log, and where to cut it."""
    file, cores = LOGS[name]
    jobs = Workload.read(inputs / "traces" / file)
    return Log(
        Platform.homogeneous(nodes=cores, cores=1), jobs, len(jobs) - WINDOWS * int(TESTED * len(jobs) / WINDOWS)
    )


def scheduler(spec: str, known: UsualTimes) -> Scheduler:
    """By its spec; an order that goes by what users' jobs take knows so much of them from the start."""
    options = Spec.parse(spec).options
    name, _, exponents = options.pop("order").partition(":")
    if name != "powers":
        return make_scheduler(spec)
    order = powers(exponents)
    order.known = known
    numbers: dict[str, Any] = {key: int(value) if key == "trials" else float(value) for key, value in options.items()}
    return easy(order, **numbers)


def reached(log: Log, windows: Sequence[Window], specs: Iterable[str]) -> Runs:
    """Every scheduler on every window."""
    return {spec: [_reached(log, window, spec) for window in windows] for spec in specs}


def _reached(log: Log, window: Window, spec: str) -> Mapping[str, Any]:
    result = Simulation(log.platform, window.jobs, scheduler(spec, window.known)).run()
    summary, jobs = dict(result.summary()), window.jobs.columns
    waited = result.jobs["turnaround_time"].to_numpy() - jobs["recorded_run_time"]
    strict = {"mean_wait_s": waited.mean(), "p95_wait_s": np.quantile(waited, 0.95), "max_wait_s": waited.max()}
    in_vain = {
        IDLE: summary["mean_wait_s"],
        STOPPED: summary["jobs_preempted"] / len(waited),
        LOST: summary["lost_core_s"] / (jobs["requested_cores"] * jobs["recorded_run_time"]).sum(),
    }
    return summary | strict | in_vain


def on_later_windows(log: Log, specs: Sequence[str]) -> Runs:
    """Every scheduler on every later window, the mean over its shakes."""
    windows = log.tested()
    several = [reached(log, [window.shaken(seed) for window in windows], specs) for seed in range(SHAKES)]
    return {spec: mean_of([runs[spec] for runs in several], REPORTED) for spec in several[0]}


def drawn(rng: np.random.Generator, usual: bool, trials: int = TRIALS) -> str:
    """An order with room or without: the time counts once, the cores up to three times as much, waits little.

    With ``usual``, in half of them the time is one between the request and what the user's jobs usually take. In one of
    ``trials`` + 1 no job is ever on trial.
    """
    cores, wait = math.exp(rng.uniform(-0.5, 1.1)), rng.choice([0.0, rng.uniform(0.0, 0.5)])
    learned = rng.choice([0.0, rng.uniform(0.2, 0.9)]) if usual else 0.0
    order = f"easy:order=powers:{1.0 - learned:.2f}:{cores:.2f}:{-wait:.2f}" + (f":{learned:.2f}" if learned else "")
    share = rng.choice(SHARES)
    order += f",room={share:g},room_for={rng.choice(SECONDS)}" if share else ""
    tried = rng.integers(trials + 1) if trials else 0
    return f"{order},trials={tried},trial_for={rng.choice(TRIAL_S)}" if tried else order


def price(runs: Sequence[Mapping[str, Any]], first: Sequence[Mapping[str, Any]]) -> float:
    """How bad a scheduler is beside the first one in the same windows: by its slowdown, and by what that was bought with.

    The slowdown counts half by its mean, which a few windows decide, and half by its geometric mean, in which all count alike.
    """
    slowdowns = np.array([[run[SLOWDOWN] for run in several] for several in (runs, first)])
    change = np.log(slowdowns[0] / slowdowns[1]).mean() + slowdowns[0].mean() / slowdowns[1].mean() - 1.0
    dearer = (mean(runs, metric) / mean(first, metric) - 1.0 for metric in ("mean_wait_s", "makespan_s"))
    return float(change / 2 + PRICE * sum(max(0.0, each) for each in dearer))


def choose(log: Log, rule: str, seed: int, trials: int = TRIALS) -> str:
    """The best of those that are drawn with the seed, if its slowdown is surely less than the rule's; else the rule.

    Of sixty that are as good, one is the best by chance, and worse on other windows. Surely: by the geometric mean's interval, as
    a threshold, for windows to learn from overlap.
    """
    rng, jobs = np.random.default_rng(seed), log.learned(seed)
    first = reached(log, jobs, [rule])[rule]
    left: Runs = {spec: [] for spec in dict.fromkeys(drawn(rng, log.tells_users, trials) for _ in range(TRIED))}
    for stage in STAGES:
        for spec, runs in left.items():
            runs += reached(log, jobs[len(runs) : stage], [spec])[spec]
        best = sorted(left, key=lambda spec: price(left[spec], first[: len(left[spec])]))
        left = {spec: left[spec] for spec in best[: max(1, len(best) // KEPT)]}
    spec, runs = next(iter(left.items()))
    return spec if changed(runs, first)[-1] < 0.0 else rule


def changed(runs: Sequence[Mapping[str, Any]], first: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """The geometric mean of the ratio of slowdowns to the first's, as a change in %, and the ends of its interval."""
    return geometric_change(*(np.array([run[SLOWDOWN] for run in each]) for each in (runs, first)))


def told(spec: str, runs: Sequence[Mapping[str, Any]], first: Sequence[Mapping[str, Any]]) -> str:
    """Say it in words, and what has been run in vain."""
    change, low, high = changed(runs, first)
    stopped, lost = (100.0 * mean(runs, share) for share in (STOPPED, LOST))
    idle, around = paired_change(*(np.array([[run[IDLE]] for run in each]) for each in (runs, first)))
    return (
        f"{spec}: {change:+.1f} % ({low:+.1f} to {high:+.1f}) in the geometric mean over windows; "
        f"{stopped:.1f} trials in vain for 100 jobs, {lost:.1f} % of the work, "
        f"without which waits are {idle[0]:+.1f} ± {around[0]:.1f} %"
    )


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option(
    "--log", "names", type=click.Choice([*LOGS]), multiple=True, help="Only this log. [repeatable; default: all]"
)
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Draws of orders and windows.")
@click.option("--trials", type=click.IntRange(0), default=TRIALS, show_default=True, help="Of a job, at the most.")
def main(inputs: Path, names: Sequence[str], seeds: int, trials: int) -> None:
    """Print the tables of docs/results/orders.md on rules tuned on the earlier part of a log, with trials and without."""
    for name in names or LOGS:
        log = read_log(inputs, name)
        rules = reached(log, log.learned(0), RULES)
        rule = least(rules)
        chosen = [choose(log, rule, seed, trials) for seed in range(seeds)]
        click.echo(f"{name}: of {len(rules[rule])} windows of {log.length} jobs: {rule}; {', '.join(chosen)}")
        tried = [f"{rule},trials=1"] if trials and rule.startswith("easy") else []
        runs = on_later_windows(log, list(dict.fromkeys([rule, *chosen, *tried, *RULES])))
        hindsight = least({one: runs[one] for one in RULES})
        together = f"mean of {seeds} seeds"
        runs = {rule: runs[rule], together: mean_of([runs[spec] for spec in chosen], REPORTED)} | runs
        echo(f"{name}: {WINDOWS} later windows, shaken; in hindsight the best rule is {hindsight}", runs)
        for spec in dict.fromkeys([together, *chosen, *tried]):
            click.echo(told(spec, runs[spec], runs[rule]))


if __name__ == "__main__":
    main()
