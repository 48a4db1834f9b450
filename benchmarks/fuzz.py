"""Random simulations until one breaks the contract: ``python -m benchmarks.fuzz --runs 5000 --seed 1``.

The cases and the checks are in ``tests/support/contract``, of which ``make test`` runs a sample.
"""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from random import Random
from typing import Any

import click

from tests.support.contract import chaos, full
from tests.support.contract.runs import DRAWN_SCHEDULERS

THOROUGH_EVERY = 10
"""So many runs have one that is also repeated, saved, loaded and replayed."""


class TooLong(Exception):
    """A run did not end."""


def _give_up(*_: Any) -> None:
    raise TooLong("the run did not end in time")


@click.command()
@click.option("--runs", type=click.IntRange(1), default=1000, show_default=True, help="Simulations to make.")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Of the first; the next has the next."
)
@click.option("--minutes", type=click.FloatRange(0.0), default=None, help="Stop after that long.")
@click.option("--limit", type=click.IntRange(1), default=60, show_default=True, help="Most seconds a run may take.")
@click.option("--skip", type=str, multiple=True, help="Violations with this text are counted apart.")
@click.option(
    "--scheduler",
    type=click.Choice(DRAWN_SCHEDULERS),
    multiple=True,
    help="Only this one, or one of these, with any options.",
)
@click.option("--changing", is_flag=True, help="Jobs that are preempted, resumed and resized at random.")
def main(
    runs: int,
    seed: int,
    minutes: float | None,
    limit: int,
    skip: tuple[str, ...],
    scheduler: tuple[str, ...],
    changing: bool,
) -> None:
    """Make random simulations and check that each keeps the contract; exit status 1 if one does not.

    For each violation: its seed, with which ``--seed SEED --runs 1`` (and the same ``--scheduler``) makes it again, what
    broke, and a case as small as could be found that breaks the same way.
    """
    started, done, found, refused, known = time.perf_counter(), 0, 0, 0, 0
    tried: Counter[str] = Counter()
    judge = chaos.judge if changing else full.check
    signal.signal(signal.SIGALRM, _give_up)
    for number in range(seed, seed + runs):
        if minutes is not None and time.perf_counter() - started > 60.0 * minutes:
            break
        case = chaos.draw(Random(number)) if changing else full.full_case(number, scheduler)
        thoroughly = number % THOROUGH_EVERY == 0
        done += 1
        signal.alarm(limit)
        try:
            broken = full.violation(case, thoroughly, judge)
        except full.NotACase:
            refused += 1
            continue
        finally:
            signal.alarm(0)
        tried.update(full.areas(case))
        if broken is None:
            continue
        if any(text in broken.text for text in skip):
            known += 1
            continue
        found += 1
        click.echo(f"\nseed {number}: {broken.kind[0]} at {broken.kind[1]}")
        smallest = broken if broken.kind[0] == TooLong.__name__ else full.reduced(broken, thoroughly, judge)
        click.echo(f"{smallest.text}\n{full.described(smallest.case)}", nl=True)
    seconds = time.perf_counter() - started
    click.echo()
    for area, count in sorted(tried.items()):
        click.echo(f"{count:7,d}  {area}")
    apart = f", {known:,d} of them set apart" if known else ""
    click.echo(
        f"{done:,d} random simulations from seed {seed}, {1000.0 * seconds / done:.0f} ms each; "
        f"{refused:,d} were refused as documented; {found + known:,d} violations{apart}"
    )
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
