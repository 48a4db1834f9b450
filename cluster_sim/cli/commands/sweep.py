"""``cluster-sim sweep``: a grid of runs on many processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import RUNS_FAILED, Invocation, json_option, say, tell_json
from cluster_sim.cli.options import DeclaringCommand, out_option
from cluster_sim.extras import needed

if TYPE_CHECKING:
    from analysis.sweep import Grid, Outcome

TABLE, RESULTS = "table.csv", "results.csv"
_SHOWN = 30


@click.command(
    cls=DeclaringCommand,
    declared_by="analysis.sweep.session:sweep",
    declared={"workers": {"metavar": "N"}, "resume": {}},
    short_help="Run a grid of platforms, workloads, schedulers, policies and seeds.",
)
@click.argument("config", type=click.Path(), metavar="CONFIG")
@out_option("Folder for the results.")
@click.option(
    "--dask", metavar="ADDRESS", help="Run on a dask cluster instead: tcp://HOST:PORT, or its scheduler file."
)
@click.option("--report", is_flag=True, help="Leave figures of the metrics, too, report.html.")
@json_option
@click.pass_obj
def sweep(
    invocation: Invocation,
    config: str,
    out: str,
    workers: int | None,
    dask: str | None,
    resume: bool,
    report: bool,
    as_json: bool,
) -> int:
    """Run every combination of the factors in a YAML file, with replications, and put the results in one table.

    A run that fails is recorded with its traceback; the others go on, and the exit status is 1. A sweep that was killed
    goes on with --resume.
    The folder receives runs.parquet and results.csv (a row per run), table.csv (means with confidence intervals, a row per
    combination of factors) and manifest.json.
    """
    from analysis.sweep import Grid
    from analysis.sweep import sweep as run_all
    from cluster_sim.cli.comparisons import warn_if_equal
    from cluster_sim.cli.simulate import prepare
    from cluster_sim.workload.fields import SUMMARY_METRICS, names

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
    if grid.config.replications > 1:
        factors, metrics = list(grid.factors), list(names(SUMMARY_METRICS))
        runs = outcome.runs(list(dict.fromkeys([*factors, "status", *metrics])))
        runs = runs[runs["status"] == "done"]
        cases = runs.groupby(factors, sort=False, dropna=False, observed=True)
        warn_if_equal((case[metrics].values.tolist() for _, case in cases), "replications")
    invocation.tell_all()
    if outcome.done < outcome.cells:
        failures = outcome.failures()
        first = failures["error"].iloc[0].strip().splitlines()[-1] if len(failures) else ""
        say(f"warning: {outcome.failed} runs failed, the first with: {first}")
        say(f"tracebacks are in the column 'error' of {Path(out) / 'runs.parquet'}; --resume tries these runs again")
    page = {"facts": _facts(grid), "assumptions": assumptions, "command": invocation.command} if report else None
    _conclude(outcome, grid, Path(out), page, as_json)
    return 0 if outcome.done == outcome.cells else RUNS_FAILED


def _dask(address: str, stack: ExitStack) -> tuple[Executor, Callable[[], int]]:
    """Return an executor on a dask cluster, and a function for how many runs may be under way there just now."""
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
    """Return what the runs assumed, with the number of runs that rejected jobs."""
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


def _facts(grid: Grid) -> dict[str, str]:
    """Return what the report says, beside the factors, of how the sweep was made."""
    from analysis.sweep.grid import which_jobs
    from cluster_sim import __version__
    from cluster_sim.extras import made_with

    named = [keys for keys in grid.config.factors.workload if keys.name]
    return {
        **{f"Workload {keys.name}": which_jobs(keys) for keys in named},
        "Seed": str(grid.config.seed),
        "Configuration": str(grid.source),
        "Version": f"cluster-sim {__version__}",
        "Made with": ", ".join(f"{name} {version}" for name, version in made_with().items()),
    }


def _conclude(outcome: Outcome, grid: Grid, out: Path, page: dict[str, Any] | None, as_json: bool) -> None:
    """Print the conclusions and the table; write results.csv, table.csv and, if wanted, the page."""
    from analysis.sweep.alternatives import compare_sweep
    from analysis.sweep.runs_table import LARGEST_IS_BEST, sweep_table, table_text
    from cluster_sim.files.atomic import atomic_path

    with atomic_path(out / RESULTS) as aside, aside.open("w", encoding="utf-8", newline="") as file:
        for number, chunk in enumerate(outcome.store.chunks()):  # there may be millions of rows
            chunk.drop_columns(["error"]).to_pandas().to_csv(file, index=False, header=number == 0, lineterminator="\n")
    metrics, confidence = grid.config.metrics, grid.config.confidence
    for_policies = ["energy_j", "mean_wait_s"]  # which are compared, whatever else is shown
    runs = outcome.runs(list(dict.fromkeys(["replication", *grid.factors, "status", *metrics, *for_policies])))
    runs = runs[runs["status"] == "done"]
    runs.attrs["factors"] = list(grid.factors)
    document: dict[str, Any] = {"cells": outcome.cells, "done": outcome.done, "failed": outcome.failed}
    if len(runs):
        table = sweep_table(runs, metrics, confidence=confidence)
        with atomic_path(out / TABLE) as aside:
            sweep_table(runs, metrics, list(grid.factors), confidence).to_csv(aside, index=False, lineterminator="\n")
        comparison = compare_sweep(runs, metrics, confidence, outcome.failed)
        document |= {"table": table.to_dict("records"), "comparison": comparison.to_dict()}
        if len(table) > _SHOWN:  # then those with the best means
            table = table.sort_values(metrics[0], ascending=metrics[0] not in LARGEST_IS_BEST, kind="stable")
        if not as_json:
            if comparison.sentences:
                click.echo(f"{comparison}\n")
            click.echo(table_text(table, _SHOWN))
        if page is not None:
            from analysis.sweep.report import write_sweep_page

            write_sweep_page(runs, metrics, out / "report.html", confidence=confidence, failed=outcome.failed, **page)
    if as_json:
        tell_json(document)
    echo = say if as_json else click.echo
    echo(f"\n{outcome.done} of {outcome.cells} runs done ({outcome.ran} now); the results are in {out}")
    if page is not None and len(runs):
        echo(f"The figures are in {out / 'report.html'}")
