"""``cluster-sim sweep``: a grid of runs on many processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import RUNS_FAILED, Invocation, say
from cluster_sim.extras import needed

if TYPE_CHECKING:
    import pandas as pd

    from analysis.sweep import Grid, Outcome

TABLE, RESULTS = "table.csv", "results.csv"
_SHOWN = 30


@click.command(short_help="Run a grid of platforms, workloads, schedulers, policies and seeds.")
@click.argument("config", type=click.Path(), metavar="CONFIG")
@click.option("--out", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Folder for the results.")
@click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes. [default: as many as there are cores]"
)
@click.option(
    "--dask", metavar="ADDRESS", help="Run on a dask cluster instead: tcp://HOST:PORT, or its scheduler file."
)
@click.option("--resume", is_flag=True, help="Run only what is missing in the folder, and what failed.")
@click.option("--report", is_flag=True, help="Leave figures of the metrics, too, report.html.")
@click.pass_obj
def sweep(
    invocation: Invocation, config: str, out: str, workers: int | None, dask: str | None, resume: bool, report: bool
) -> int:
    """Run every combination of the factors in a YAML file, with replications, and put the results in one table.

    A run that fails is recorded with its traceback; the others go on, and the exit status is 1. A sweep that was killed
    goes on with --resume.
    The folder receives runs.parquet and results.csv (a row per run), table.csv (means with confidence intervals, a row per
    combination of factors) and manifest.json.
    """
    from analysis.sweep import Grid
    from analysis.sweep import sweep as run_all
    from cluster_sim.cli.simulate import prepare

    if workers is not None and dask is not None:
        raise click.UsageError("--workers and --dask exclude each other")
    with needed("sweep", "pyarrow"):
        import pyarrow  # noqa: F401
    if dask is not None:
        with needed("--dask", "distributed"):
            import distributed  # noqa: F401
    grid = Grid.read(config)
    prepare(out, what="sweep")
    with ExitStack() as stack:
        executor, in_flight = (None, None) if dask is None else _dask(dask, stack)
        outcome = run_all(
            grid, out, executor=executor, workers=workers, in_flight=in_flight, resume=resume, progress=True,
            command=invocation.command,
        )  # fmt: skip
    assumptions = _with_rejections(outcome)
    invocation.assume(assumptions)
    _warn_if_equal(outcome, grid)
    invocation.tell_all()
    _tell_failures(outcome, Path(out))
    _write_results(outcome, Path(out))
    page = {"facts": _facts(grid), "assumptions": assumptions, "command": invocation.command} if report else None
    _conclude(outcome, grid, Path(out), page)
    return 0 if outcome.done == outcome.cells else RUNS_FAILED


def _dask(address: str, stack: ExitStack) -> tuple[Executor, Callable[[], int]]:
    """An executor on a dask cluster, and how many runs may be under way there: the cluster may grow and shrink."""
    import distributed

    from cluster_sim.errors import InputError

    connect: Any = distributed.Client
    kind = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
    try:
        client = stack.enter_context(connect(**kind, timeout=20, set_as_default=False))
    except (OSError, ValueError, TimeoutError) as error:
        found = str(error).partition("\n")[0] or type(error).__name__
        raise InputError("--dask", "the address of a dask scheduler that answers", f"{address}: {found}") from None
    return client.get_executor(pure=False), lambda: 2 * max(1, sum(client.nthreads().values()))


def _with_rejections(outcome: Outcome) -> list[str]:
    """What the runs assumed, with the number of those that rejected jobs."""
    from cluster_sim.records.assumptions import kind_of  # brings numpy

    runs = outcome.runs(["status", "jobs_rejected", "jobs_submitted"])
    runs = runs[runs["status"] == "done"]
    some = runs[runs["jobs_rejected"] > 0]
    lines = {kind_of(line): line for line in outcome.assumptions}
    if len(some):
        worst = some.sort_values("jobs_rejected").iloc[-1]
        text = f"in {len(some):,} of {len(runs):,} runs, at most {worst['jobs_rejected']:,.0f} of "
        text += f"{worst['jobs_submitted']:,.0f} jobs"
        lines["rejected"] = f"{lines['rejected']}; {text}" if "rejected" in lines else f"rejected: {text}"
    return list(lines.values())


def _warn_if_equal(outcome: Outcome, grid: Grid) -> None:
    """Tell when the replications of every combination of the factors came out alike."""
    from cluster_sim.cli.compare import warn_if_equal
    from cluster_sim.workload.fields import SUMMARY_METRICS, names

    factors, metrics = list(grid.factors), list(names(SUMMARY_METRICS))
    if grid.config.replications > 1:
        runs = outcome.runs(list(dict.fromkeys([*factors, "status", *metrics])))
        runs = runs[runs["status"] == "done"]
        cases = runs.groupby(factors, sort=False, dropna=False, observed=True)
        warn_if_equal((case[metrics].values.tolist() for _, case in cases), "replications")


def _write_results(outcome: Outcome, out: Path) -> None:
    """results.csv: every run a row; in pieces, for there may be millions."""
    from cluster_sim.files.atomic import atomic_path

    with atomic_path(out / RESULTS) as aside, aside.open("w", encoding="utf-8", newline="") as file:
        for number, chunk in enumerate(outcome.store.chunks()):
            chunk.drop_columns(["error"]).to_pandas().to_csv(file, index=False, header=number == 0, lineterminator="\n")


def _facts(grid: Grid) -> dict[str, str]:
    """What the report says of how the sweep was made, beside its factors."""
    from analysis.sweep.grid import which_jobs
    from cluster_sim import __version__
    from cluster_sim.libraries import made_with

    named = [keys for keys in grid.config.factors.workload if keys.name]
    return {
        **{f"Workload {keys.name}": which_jobs(keys) for keys in named},
        "Seed": str(grid.config.seed),
        "Configuration": str(grid.source),
        "Version": f"cluster-sim {__version__}",
        "Made with": ", ".join(f"{name} {version}" for name, version in made_with().items()),
    }


def _conclude(outcome: Outcome, grid: Grid, out: Path, page: dict[str, Any] | None) -> None:
    """Print the table and which was best; leave table.csv and, if wanted, the page, with what it says besides."""
    from analysis.sweeps import LARGEST_IS_BEST, sweep_table, table_text
    from cluster_sim.files.atomic import atomic_path

    metrics, confidence = grid.config.metrics, grid.config.confidence
    for_policies = ["energy_j", "mean_wait_s"]  # which the page compares, whatever else it shows
    runs = outcome.runs(list(dict.fromkeys(["replication", *grid.factors, "status", *metrics, *for_policies])))
    runs = runs[runs["status"] == "done"]
    runs.attrs["factors"] = list(grid.factors)
    if len(runs):
        table = sweep_table(runs, metrics, confidence=confidence)
        with atomic_path(out / TABLE) as aside:
            sweep_table(runs, metrics, list(grid.factors), confidence).to_csv(aside, index=False, lineterminator="\n")
        if len(table) > _SHOWN:  # then the best of them
            table = table.sort_values(metrics[0], ascending=metrics[0] not in LARGEST_IS_BEST, kind="stable")
        click.echo(table_text(table, _SHOWN))
        _tell_best(runs, metrics, confidence)
        if page is not None:
            from analysis.sweep_report import write_sweep_page

            write_sweep_page(runs, metrics, out / "report.html", confidence=confidence, failed=outcome.failed, **page)
    _tell_end(outcome, out, page is not None and len(runs) > 0)


def _tell_best(runs: pd.DataFrame, metrics: list[str], confidence: float) -> None:
    """A line for each metric: which is best, among heuristics and, where agents were learned, among all."""
    from analysis.sweeps import best_table, deciders, factors_of, heuristics, shared, table_text
    from analysis.tables import HALF_WIDTH
    from analysis.wording import label_of
    from cluster_sim.errors import counted

    if deciders(runs).nunique() < 2:
        return
    first = shared(runs, metrics[0])
    apart = counted(len(runs) - len(first), "run") if len(first) < len(runs) else ""
    click.echo(f"\nBest{f', without {apart} of replications in which others have no result' if apart else ''}:")
    for metric in metrics:
        told_of = None
        compared = shared(runs, metric)
        if not len(compared) and runs[metric].notna().any():
            click.echo(f"  {label_of(metric)}: no replication has results of all")
        for name, group in {"best heuristic": heuristics(compared), "best of all": compared}.items():
            if not len(group):
                continue
            who, text = _best(group, metric, confidence)
            if who != told_of:
                click.echo(f"  {label_of(metric)}: {name} {text}")
            told_of = who
    known = heuristics(first)
    cases = best_table(known if len(known) else first, metrics[0], confidence)
    if len(cases) > 1 and len(factors_of(runs)) <= 4:
        cases = cases.rename(columns={"mean": metrics[0], "mean" + HALF_WIDTH: metrics[0] + HALF_WIDTH})
        click.echo(f"\nBest {label_of(metrics[0])} in each case:\n{table_text(cases, _SHOWN)}")


def _best(runs: pd.DataFrame, metric: str, confidence: float) -> tuple[str, str]:
    """Who is best, and a line about that: its equals, and how far the next one is or, with several cases, how far it is."""
    from analysis.sweeps import best_table, ranking
    from analysis.tables import percent

    order = ranking(runs, metric)
    who, ratio, wins = str(order["who"].iloc[0]), float(order["ratio"].iloc[0]), int(order["wins"].iloc[0])
    if math.isnan(ratio):
        return "", "none has a result in every case"
    equals = int(order["equals"].iloc[0])
    text = f"{who} (and {equals} equal to it)" if equals else who
    cases = best_table(runs, metric, confidence)
    if len(cases) > 1:
        behind = f"on average {100 * (ratio - 1):.2f} % behind the best of each case"
        if math.isinf(ratio):  # where it waits, another does not at all, of which there are no shares
            behind = f"in {wins:,} of {len(cases):,} cases"
        return who, f"{text}, {behind if ratio != 1.0 else 'in every case'}"
    row = cases.iloc[0].to_dict()
    apart, around = row.get("next vs best, %", float("nan")), row.get("next vs best, % ±", float("nan"))
    if not equals and apart == apart:
        text += f"; next {row['next']}, {percent(apart)}" + (f" ± {around:.2f}" if around == around else "")
    return who, text


def _tell_end(outcome: Outcome, out: Path, report: bool) -> None:
    click.echo(f"\n{outcome.done} of {outcome.cells} runs done ({outcome.ran} now); the results are in {out}")
    if report:
        click.echo(f"The figures are in {out / 'report.html'}")


def _tell_failures(outcome: Outcome, out: Path) -> None:
    missing = outcome.cells - outcome.done - outcome.failed
    if outcome.failed or missing:
        failures = outcome.failures()
        first = failures["error"].iloc[0].strip().splitlines()[-1] if len(failures) else ""
        say(f"warning: {outcome.failed} runs failed, the first with: {first}")
        say(f"tracebacks are in the column 'error' of {out / 'runs.parquet'}; --resume tries these runs again")
