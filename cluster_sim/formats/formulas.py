"""Formulas in input files, ``flops / num_nodes ^ 0.8``: numbers, names, arithmetic and a few functions, nothing else.

A formula is looked at as text, never run: what is neither a number, nor a name that it may use, nor one of the operators and
functions below is refused.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster_sim.errors import FormatError

LONGEST = 1_000
"""Characters that a formula may have."""

Values = npt.NDArray[np.float64]

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: np.fmod,
    ast.Pow: np.power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{name: (1, getattr(np, name)) for name in ("abs", "ceil", "floor", "trunc", "sqrt", "exp", "log2", "log10")},
    "log": (1, np.log),
    "round": (1, lambda x: np.trunc(x + np.copysign(0.5, x))),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "pow": (2, np.power),
}


def evaluate(formula: object, names: Mapping[str, float | Values], where: str) -> Values:
    """Return the values of a formula, in the shape of its names' values.

    ``^`` is a power, ``log`` the natural logarithm.

    A number is a formula too. Raises FormatError, naming ``where`` it stands, for anything else, and for values that are not
    finite.
    """
    if isinstance(formula, bool) or not isinstance(formula, str | int | float):
        raise FormatError(where, "a number or a formula", formula)
    try:
        with np.errstate(all="ignore"):
            tree = _parsed(formula) if isinstance(formula, str) else ast.Constant(formula)
            values = np.asarray(_value(tree, names, where, formula), dtype=np.float64)
    except FormatError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormatError(where, f"a formula of at most {LONGEST:,} characters", formula) from None
    except OverflowError:
        values = np.array(math.inf)
    if not np.isfinite(values).all():
        raise FormatError(where, "a formula with finite values", formula)
    return values


@lru_cache(maxsize=1024)
def _parsed(formula: str) -> ast.AST:
    if len(formula) > LONGEST:
        raise ValueError(formula)
    return ast.parse(formula.strip().replace("^", "**"), mode="eval").body


def _value(node: ast.AST, names: Mapping[str, float | Values], where: str, formula: object) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return np.float64(number)
        case ast.Name(id=name) if name in names:
            return np.asarray(names[name], dtype=np.float64)
        case ast.Name(id=name):
            raise FormatError(where, f"a formula of {', '.join(names) or 'numbers'}", f"{name} in {formula}")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, names, where, formula), _value(right, names, where, formula))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand, names, where, formula))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if _FUNCTIONS.get(name, (0,))[0] == len(args) > 0:
            return _FUNCTIONS[name][1](*(_value(arg, names, where, formula) for arg in args))
    expected = f"numbers, names, + - * / % ^ and {', '.join(_FUNCTIONS)}"
    raise FormatError(where, expected, formula)
