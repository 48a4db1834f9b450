"""Hyper-parameters: dataclasses of numbers, words and truth values, from a file or made in Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

import numpy as np

from cluster_sim.errors import InputError, told_apart
from cluster_sim.platform.hardware import is_number
from cluster_sim.spelling import one_of

_WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}
"""Types of hyper-parameters by their names, each in the words of errors."""


def options_of(kind: Any, given: Mapping[str, Any], where: str) -> Any:
    """Make a dataclass of hyper-parameters from the values in a file. Raises InputError, naming the option there."""
    known = {field.name: field for field in fields(kind)}
    for name, value in given.items():
        if name not in known:
            raise InputError(where, one_of(name, known), name)
        _check(known[name], value, f"{where}, {name}")
    return kind(**given)


def check_types(options: Any, of: str) -> None:
    """Raise InputError unless each hyper-parameter has a value of its type; ``of`` is whose they are."""
    for field in fields(options):
        _check(field, getattr(options, field.name), f"{of} option '{field.name}'")


def _check(field: Field[Any], value: Any, where: str) -> None:
    declared, _, other = str(field.type).partition(" | ")
    if declared not in _WORDS or (value is None and other == "None"):
        return
    if not _suits(value, declared):
        raise InputError(where, _WORDS[declared], told_apart(value))
    value = float(value) if isinstance(value, np.floating) else value  # the greatest is beyond a short one
    if declared == "float" and value != field.default and not -sys.float_info.max <= value <= sys.float_info.max:
        raise InputError(where, "a finite number", value)


def _suits(value: object, declared: str) -> bool:
    """Return whether a value is of the declared type, by its name."""
    if declared == "bool" or isinstance(value, bool | np.bool_):
        return declared == "bool" and isinstance(value, bool | np.bool_)
    if declared == "float":
        return is_number(value)
    return isinstance(value, int | np.integer if declared == "int" else str)
