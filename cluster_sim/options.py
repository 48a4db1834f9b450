"""The options of a thing that has a name: each is declared once, as a parameter of what makes the thing.

An annotation says all about an option: its type, its bounds, its unit, and what it means::

    @power_policies.register("timeout")
    class IdleTimeout(PowerPolicy):
        @checked
        def __init__(self, seconds: Annotated[float, Ge(0), Unit("s"), Doc("idle time before a node is switched off")] = 300.0):

From it come the spec's text (``timeout:60``), its conversion and its errors (:mod:`cluster_sim.registry`), the check of what
Python gives (:func:`checked`), ``cluster-sim list NAME`` and the manual's tables.

A float is finite unless ``Le(inf)`` says otherwise, or its default is infinite. ``Literal`` names all the values of a text.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import annotated_types as bounds
from typing_extensions import Doc

from cluster_sim.errors import SpecError, told_apart
from cluster_sim.spelling import hint

F = TypeVar("F", bound=Callable[..., Any])

REQUIRED: Any = inspect.Parameter.empty
"""Default of an option that must be given."""
_TRUTH = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
_UNITS = {"s": "seconds", "W": "watts"}
"""Units that errors spell out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option as its parameter declares it; several values are those that a spec gives without a key."""

    name: str
    default: Any = REQUIRED
    kinds: tuple[type, ...] = ()  #: Of bool, int, float and str; none where a value may be anything.
    choices: tuple[Any, ...] = ()  #: All values, or those beside a number.
    least: float = -math.inf
    most: float = math.inf
    is_least: bool = True  #: False: a value is above ``least``.
    is_most: bool = False  #: False: a value is below ``most``.
    unit: str = ""
    meaning: str = ""
    several: bool = False

    @property
    def expected(self) -> str:
        """Return what a value must be, in the words of an error."""
        if bool in self.kinds:
            return _one_of(["yes or no"], self.choices)
        text = ["a text"] * (str in self.kinds)
        if int in self.kinds or float in self.kinds:
            return _one_of([f"{self._number}{self.range_text}", *text], self.choices)
        return _one_of(text, self.choices)

    @property
    def _number(self) -> str:
        if float not in self.kinds:
            return "a whole number" + (f" of {self.unit}" if self.unit else "")
        is_finite = "a finite number" if not self.is_most and self.most == math.inf else "a number"
        return _UNITS.get(self.unit, f"{is_finite} of {self.unit}" if self.unit else is_finite)

    @property
    def range_text(self) -> str:
        """Return the bounds in words, such as ``, 0 or more and below 1``."""
        low = f"{self.least:,.12g} or more" if self.is_least else f"above {self.least:,.12g}"
        high = f"at most {self.most:,.12g}" if self.is_most else f"below {self.most:,.12g}"
        told = [low] * (self.least > -math.inf) + [high] * (self.most < math.inf)
        return (", " if self.is_least else " ") + " and ".join(told) if told else ""

    @property
    def kind_text(self) -> str:
        """Return the type and the bounds for a table, such as ``number, 0 or more`` or ``counted or pinned``."""
        words = {bool: "yes or no", int: "whole number", float: "number", str: "text"}
        told = [words[kind] for kind in self.kinds if not (kind is int and float in self.kinds)]
        told = [f"{text}{self.range_text}" if text.endswith("number") else text for text in told]
        return _one_of(told, self.choices) or "text"

    def parse(self, text: str, where: str) -> Any:
        """Return the value that a spec's text says. Raises SpecError, at ``where``, for one that it cannot be."""
        if text in self.choices or str in self.kinds or not (self.kinds or self.choices):
            return text
        if bool in self.kinds and text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        for kind in (int, float):
            if kind in self.kinds:
                with suppress(ValueError):
                    number = kind(text)
                    if self._is_within(number):
                        return number
        raise SpecError(where, self.expected + hint(text, self.choices), text)

    def check(self, value: Any, where: str) -> Any:
        """Return a value that Python gives, numbers in the option's type. Raises SpecError for one that it cannot be."""
        if not (self.kinds or self.choices) or (isinstance(value, str) and value in self.choices):
            return value
        if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
            if bool in self.kinds:
                return bool(value)
        elif isinstance(value, Integral) and int in self.kinds:
            if self._is_within(value):
                return int(value)
        elif isinstance(value, Real) and float in self.kinds:
            with suppress(OverflowError):
                if self._is_within(value):
                    return float(value)
        elif isinstance(value, str) and str in self.kinds:
            return value
        expected = "True or False" if self.kinds == (bool,) else self.expected
        raise SpecError(where, expected, "None" if value is None else told_apart(value))

    def _is_within(self, value: Any) -> bool:
        if self.is_most and math.inf == self.most == -self.least:
            return True  # whoever takes it says what it must be
        above = value >= self.least if self.is_least else value > self.least
        return bool(above and (value <= self.most if self.is_most else value < self.most))

    def in_spec(self, value: Any) -> str:
        """Return a value as a spec says it."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return f"{value:g}"
        if value is None or isinstance(value, str | int):
            return "" if value is None else str(value)
        return str(getattr(value, "spec", "") or getattr(value, "__name__", type(value).__name__))


def _one_of(words: list[str], choices: Iterable[Any]) -> str:
    told = [*words, *map(str, choices)]
    comma = "," * any("," in each for each in told)
    return f"{comma} or ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


@cache
def options_of(factory: Callable[..., Any]) -> Mapping[str, Option]:
    """Return the options of what makes a thing, a class or a function, by name and in their order."""
    try:
        maker = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
        hints = get_type_hints(maker, include_extras=True)
    except (NameError, TypeError):  # a name that only type checkers import
        hints = {}
    found = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        # Without annotations, or with such that cannot be evaluated, the type is as named, or the default's.
        named = {"int": int, "float": float, "bool": bool}.get(str(parameter.annotation))
        annotation = hints.get(name, named or type(parameter.default))
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        found[name] = option_of(name, parameter.default, annotation, several)
    return found


def option_of(name: str, default: Any, annotation: Any, several: bool = False) -> Option:
    """Return the option that an annotation declares."""
    extras: list[Any] = []
    kinds, choices = _types(annotation, extras)
    facts: dict[str, Any] = {"is_most": not extras or default == math.inf}
    for extra in extras:
        if isinstance(extra, Doc):
            facts["meaning"] = extra.documentation
        elif isinstance(extra, bounds.Unit):
            facts["unit"] = extra.unit
        elif isinstance(extra, bounds.Ge):
            facts["least"] = extra.ge
        elif isinstance(extra, bounds.Gt):
            facts |= {"least": extra.gt, "is_least": False}
        elif isinstance(extra, bounds.Le):
            facts |= {"most": extra.le, "is_most": True}
        elif isinstance(extra, bounds.Lt):
            facts |= {"most": extra.lt, "is_most": False}
    return Option(name=name, default=default, kinds=kinds, choices=choices, several=several, **facts)


def _types(annotation: Any, extras: list[Any]) -> tuple[tuple[type, ...], tuple[Any, ...]]:
    """Return the plain types of an annotation and the values that it names, neither where it takes other objects.

    What ``Annotated`` says beside the type is added to ``extras``.
    """
    if get_origin(annotation) is Annotated:
        extras += get_args(annotation)[1:]
        return _types(get_args(annotation)[0], extras)
    if get_origin(annotation) is Literal:
        return (), get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        parts = [_types(part, extras) for part in get_args(annotation) if part is not NoneType]
        if ((), ()) in parts:
            return (), ()
        return tuple(kind for kinds, _ in parts for kind in kinds), tuple(
            each for _, values in parts for each in values
        )
    return ((annotation,) if annotation in (bool, int, float, str) else ()), ()


def spec_text(name: str, options: Mapping[str, Option], values: Mapping[str, Any]) -> str:
    """Return the spec of a thing: its name, and the options that have another value than their default.

    An option stands without its key where it must be given, and where the thing has no other.
    """
    said = []
    for key, value in values.items():
        option = options[key]
        text, usual = option.in_spec(value), option.in_spec(option.default)
        if value is not None and text != usual:
            said.append(text if option.default is REQUIRED or len(options) == 1 else f"{key}={text}")
    return f"{name}:{','.join(said)}" if said else name


def checked(function: F) -> F:
    """Decorator of a class's ``__init__``, or of a function: what Python gives as options is checked.

    The ``spec`` of a thing of a registered class has the options, too. Raises SpecError, which names the class, or the
    function, and the option.
    """
    signature = inspect.signature(function)
    is_init = function.__name__ == "__init__"

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        kind: Any = type(arguments[0]) if is_init else None
        options, unusual = options_of(function), {}
        given = signature.bind(*arguments, **keywords)
        for name, value in list(given.arguments.items())[is_init:]:
            if value is not options[name].default:
                value = options[name].check(value, f"{(kind or function).__name__}, {name}")
                given.arguments[name] = unusual[name] = value
        result = function(*given.args, **given.kwargs)
        name = getattr(kind, "spec", "")
        if name and kind.__init__ is call:  # not within that of a class derived from it
            arguments[0].spec = spec_text(name, options_of(kind), unusual) if unusual else name
        return result

    return cast(F, call)
