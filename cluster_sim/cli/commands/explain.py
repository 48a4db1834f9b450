"""``cluster-sim explain``: what became of one job of a finished run, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from cluster_sim.records.result import Result


@click.command(short_help="Say why a job of a finished run waited, and what started it.")
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.argument("job_id", metavar="JOB")
@click.option("--chain", is_flag=True, help="Print the jobs whose ends it waited for, one after the other.")
def explain(directory: str, job_id: str, chain: bool) -> None:
    """Say why a job waited, what started it, where it ran and how it ended.

    DIR is a folder in which ``run`` left its results. Why a scheduler kept a job back that would have fitted is known
    only of a run that was to --explain.
    """
    from cluster_sim.records.result import Result

    result = Result.load(directory)
    try:
        text = chain_text(result, job_id) if chain else result.explain(job_id)
    except InputError as error:
        if error.where not in ("result.explain", "result.blocking_chain"):
            raise
        raise InputError(f"{directory}, job", error.expected, error.found) from None
    click.echo(text, nl=False)


def chain_text(result: Result, job_id: str) -> str:
    """Return the chain of a job as a table, after a line that says how much of its wait it covers."""
    from analysis.tables.run_metrics import aligned
    from cluster_sim.amounts import at_time, duration

    links = result.blocking_chain(job_id)
    attempt = result.attempts[result.attempts["job_id"] == job_id].iloc[-1]
    wait = attempt["allocation_time"] - attempt["queue_time"]
    if links.empty:
        return f"Job {job_id} waited {duration(wait)}, for no job to end.\n"
    of_wait = links["of_wait_s"].sum()
    told = (
        f"all of its wait of {duration(wait)}"
        if of_wait == wait
        else f"{duration(of_wait)} of its wait of {duration(wait)}"
    )
    rows = [("job", "user", "cores", "from", "to", "of the wait")]
    for link in links.to_dict("records"):
        times = (at_time(link["start"]), at_time(link["end"]), duration(link["of_wait_s"]))
        rows.append((link["job_id"], link["user"], str(link["cores"]), *times))
    return f"Job {job_id} waited for these jobs, one after the other; they took {told}.\n\n{aligned(rows, words=2)}\n"
