"""Instructions and calls that a job costs, by what they are for: ``python -m benchmarks.instructions [CASE]…``.

Python's own instructions (bytecodes) are counted, and the calls of functions written in Python, SimPy's among them. No load of
the machine disturbs these counts, so a change of 1 % shows. What numpy and other libraries do in C counts as one instruction.
The counts of a few jobs are taken off those of more, so that what a run costs once does not count.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import click

from benchmarks import inputs
from benchmarks.cases import flat
from cluster_sim import Simulation

FEW, MANY = 400, 1_000

OTHER = "other"
PARTS = {
    "SimPy's loop and events": "core.py events.py engine.py",
    "arrival and queue": "arrivals.py jobs.py admission.py",
    "whether there is a pass": "passes.py policies.py news.py",
    "finding cores": "view.py free.py placement.py eligibility.py",
    "booking cores": "allocation.py cores.py intervals.py ledger.py node_states.py memory.py",
    "power": "power_meter.py",
    "the job's life": "dispatcher.py decisions.py job_life.py running.py attempt.py execution.py attempts.py",
    "contention": "memory_channel.py processor_step.py contention.py machine.py",
    "nodes that switch": "switching.py transition_log.py power_control.py node.py",
}
"""Modules by what they are for; all of ``schedulers`` is one more part."""
PART_OF = {module: part for part, modules in PARTS.items() for module in modules.split()}

CASES = ("fcfs", "easy", "conservative", "contention", "always-on", "timeout:300")


def part_of(path: PurePath) -> str:
    """Return the part of a run that the functions of a module belong to."""
    return "the scheduler" if "schedulers" in path.parts else PART_OF.get(path.name, OTHER)


@dataclass(frozen=True)
class Counts:
    """Instructions and calls by part."""

    instructions: Counter[str]
    calls: Counter[str]


def simulation_of(case: str, jobs: int) -> Simulation:
    """Make the run of a case with so many jobs: the cases of ``benchmarks/STAGES.md``."""
    if case == "contention":
        return Simulation(*inputs.memory_bound(jobs), "fcfs")
    if case in ("always-on", "timeout:300"):
        return Simulation(flat(inputs.SHORT_CORES), inputs.short_queues(MANY).first(jobs), "fcfs", case)
    return Simulation(flat(inputs.LOG_CORES), inputs.log().first(jobs), case)


def count(simulation: Simulation) -> Counts:
    """Count what a run costs from its first event to its last."""
    found = Counts(Counter(), Counter())

    def note(frame: Any, event: str, argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        path = PurePath(frame.f_code.co_filename)
        part = part_of(path)
        if event == "opcode":
            found.instructions[part] += 1
        elif event == "call":
            found.calls[part] += 1
        return note

    sys.settrace(note)
    try:
        simulation.env.run(simulation.closing.event)
    finally:
        sys.settrace(None)
    return found


def per_job(case: str, few: int = FEW, many: int = MANY) -> dict[str, tuple[float, float]]:
    """Return instructions and calls of a job by part, the costliest part first."""
    before, after = (count(simulation_of(case, jobs)) for jobs in (few, many))
    jobs = many - few
    return {
        part: ((number - before.instructions[part]) / jobs, (after.calls[part] - before.calls[part]) / jobs)
        for part, number in after.instructions.most_common()
    }


@click.command()
@click.argument("cases", nargs=-1, type=click.Choice(CASES), metavar="[CASE]...")
def main(cases: tuple[str, ...]) -> None:
    """Print a table for each CASE; all by default."""
    for case in cases or CASES:
        parts = per_job(case)
        whole, calls = (sum(column) for column in zip(*parts.values(), strict=True))
        click.echo(f"\n{case}: {whole:.0f} instructions and {calls:.1f} calls a job\n")
        click.echo("| part | instructions | share | calls |\n|---|---:|---:|---:|")
        for part, (instructions, its_calls) in parts.items():
            click.echo(f"| {part} | {instructions:.0f} | {instructions / whole:.0%} | {its_calls:.1f} |")


if __name__ == "__main__":
    main()
