"""Are the stated reasons for waiting true? Random runs, watched as they go, against what their results say afterwards.

``python -m benchmarks.reasons --runs 1000``: everything registered, guests, failures, reservations, tags, memory, power
policies, as :mod:`tests.support.contract.runs` draws them. ``--model`` adds a run of 2,000 jobs of the Lublin model under EASY.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import click

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from tests.support.contract.full import NotACase
from tests.support.contract.runs import Case
from tests.support.truth import Watched, check, checked

SHOWN = 10


class TookTooLongError(Exception):
    """A run that takes more CPU time than it may: its scheduler searches through schedules, say."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError in here after so many seconds of CPU time, where the system can tell."""

    def stop(number: int, frame: object) -> None:
        raise TookTooLongError

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


@click.command()
@click.option("--runs", default=1000, show_default=True, help="Random runs.")
@click.option("--seed", default=0, show_default=True, help="Seed of the first; the next has the next.")
@click.option("--model", is_flag=True, help="Also 2,000 jobs of the Lublin model on 64 nodes of 16 cores, under EASY.")
@click.option("--explain/--no-explain", default=True, help="Runs that keep a log of decisions.")
@click.option("--gpus", is_flag=True, help="Nodes have GPUs, other counted units and licences, and jobs ask for them.")
@click.option("--each", default=20.0, show_default=True, help="CPU seconds after which a run is left out.")
def main(runs: int, seed: int, model: bool, explain: bool, gpus: bool, each: float) -> None:
    """Count the reasons that were checked, and print those that are not true."""
    began, counts, wrong, made, left_out = time.perf_counter(), Counter[str](), list[str](), 0, list[int]()
    while made < runs:
        try:
            with limited(each):
                counts += checked(seed, explain=explain, gpus=gpus)
            made += 1
        except TookTooLongError:
            left_out.append(seed)
        except NotACase:
            pass
        except AssertionError as error:
            made += 1
            wrong.append(f"seed {seed}: {str(error).splitlines()[0]}")
        seed += 1
    _tell(f"{made:,} random runs", counts, wrong, began)
    if left_out:
        click.echo(f"  left out, since they take more than {each:g} s: seeds {', '.join(map(str, left_out))}")
    if model:
        began = time.perf_counter()
        _tell("2,000 jobs under EASY", *_of_model(), began)
    raise SystemExit(1 if wrong else 0)


def _of_model() -> tuple[Counter[str], list[str]]:
    platform = Platform.homogeneous(64, 16)
    workload = Workload.read("lublin:jobs=2000,nodes=1024,seed=1")
    simulation = Simulation(platform, workload, make_scheduler("easy"), explain=True)
    seen = Watched()
    seen.watch(simulation)
    result = simulation.run()
    try:
        return check(Case(platform, {}, scheduler="easy"), result, seen), []
    except AssertionError as error:
        return Counter(), [str(error)]


def _tell(what: str, counts: Counter[str], wrong: list[str], began: float) -> None:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts.most_common() if kind not in ("runs", "looks"))
    click.echo(f"{what}: {counts['looks']:,} reasons looked at ({kinds}), {len(wrong)} runs with one that is not true")
    for line in wrong[:SHOWN]:
        click.echo(f"  {line}")
    click.echo(f"  {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
