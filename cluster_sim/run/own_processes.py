"""SimPy processes of a user's own that a run is started with: ``--process noise.py:backup``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import isfunction, isgenerator
from typing import TYPE_CHECKING, Any, cast

from cluster_sim.errors import InputError
from cluster_sim.files.source import load, source_of

if TYPE_CHECKING:
    from simpy.events import ProcessGenerator

    from cluster_sim.run.policies import OngoingRun


Process = Callable[["OngoingRun"], Any]


def process_of(spec: Process | str) -> Process:
    """Return the function that ``FILE.py:NAME`` names, or one that is given as it is. Raises InputError."""
    if callable(spec):
        return spec
    path = source_of(spec) if isinstance(spec, str) else None
    if path is None:
        raise InputError("process", "a function, or FILE.py:NAME", spec)
    functions = vars(load(path))
    name = spec.partition(":")[2].strip()
    if name not in functions or not callable(functions[name]):
        there = [each for each, thing in functions.items() if isfunction(thing) and each[0] != "_"]
        raise InputError(
            f"process '{spec}'", f"{path}:NAME, NAME being one of {', '.join(there) or 'its functions'}", name
        )
    return functions[name]  # type: ignore[no-any-return]


def name_of(spec: Process | str) -> str:
    """Return what records call a process."""
    return spec if isinstance(spec, str) else str(getattr(spec, "__name__", type(spec).__name__))


def start(simulation: OngoingRun, processes: Iterable[Process | str]) -> None:
    """Call each function with the simulation; what is a generator runs as a process. Raises InputError for anything else."""
    for each in processes:
        made = process_of(each)(simulation)
        if isgenerator(made):
            simulation.env.process(cast("ProcessGenerator", made))
        elif made is not None:
            raise InputError(f"process '{name_of(each)}'", "a generator, or a function that returns nothing", made)
