"""Hyper-parameters: dataclasses whose annotations declare types and bounds, filled from a file or in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from cluster_sim.errors import InputError
from cluster_sim.options import options_of
from cluster_sim.spelling import one_of

Share = Annotated[float, Ge(0), Le(1)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Count = Annotated[int, Ge(0)]
Normalise = Literal["episode", "iteration", "decision", "no"]


def make_hyper_parameters(kind: Any, given: Mapping[str, Any], where: str) -> Any:
    """Make a dataclass of hyper-parameters from the values in a file. Raises InputError, naming the option there."""
    known = options_of(kind)
    for name, value in given.items():
        if name not in known:
            raise InputError(where, one_of(name, known), name)
        known[name].check(value, f"{where}, {name}")
    return kind(**given)


def check_values(options: Any, of: str) -> None:
    """Raise InputError unless each hyper-parameter has a value that its annotation allows; ``of`` is whose they are."""
    kind: Any = type(options)
    for name, option in options_of(kind).items():
        option.check(getattr(options, name), f"{of} option '{name}'")
