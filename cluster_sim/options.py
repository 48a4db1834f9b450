"""The options of a thing that has a name: each is declared once, as a parameter of what makes the thing.

An annotation says all about an option: its type, its bounds, its unit, and what it means::

    @power_policies.register("timeout")
    class IdleTimeout(PowerPolicy):
        @checked
        def __init__(self, seconds: Annotated[float, Ge(0), Unit("s"), Doc("idle time before a node is switched off")] = 300.0):

From it come the spec's text (``timeout:60``), its conversion and its errors (:mod:`cluster_sim.registry`), the check of what
Python gives (:func:`checked`), ``cluster-sim list NAME`` and the manual's tables. Options that several functions and a
command share are the fields of an :class:`OptionModel`, which :func:`with_options` makes the arguments of a function.

A float is finite unless ``Le(inf)`` says otherwise, or its default is infinite. ``Literal`` names all the values of a text.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, wraps
from numbers import Integral, Real
from os import PathLike, fspath
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Literal,
    NewType,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import annotated_types as bounds
from typing_extensions import Doc

from cluster_sim.errors import SpecError, told_apart
from cluster_sim.spelling import hint

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
Thing = TypeVar("Thing")
Model = TypeVar("Model")
Made = TypeVar("Made")

REQUIRED: Any = inspect.Parameter.empty
"""Default of an option that must be given."""
_TRUTH = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
_NAMED: dict[Any, type] = {"int": int, "float": float, "bool": bool}
"""Types by the texts of annotations, where these cannot be evaluated."""
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
    is_list: bool = False  #: True: Python gives a list of such values; checked where all values are named.
    by_key: bool = False  #: True: a spec must name it.
    is_optional: bool = False  #: True: Python may give None.

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
        number = "a finite number" if self._is_finite else "a number"
        return _UNITS.get(self.unit, f"{number} of {self.unit}" if self.unit else number)

    @property
    def _is_finite(self) -> bool:
        return not self.is_most and self.most == math.inf

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
        named = {str(choice): choice for choice in self.choices}
        if text in named:
            return named[text]
        if bool in self.kinds and text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        number = math.nan
        for kind in (int, float):
            if kind in self.kinds:
                with suppress(ValueError):
                    number = kind(text)
                    if self._is_within(number):
                        return number
        if str in self.kinds or not (self.kinds or self.choices):
            return text
        words = [choice for choice in self.choices if isinstance(choice, str)]
        raise SpecError(where, self._expected(number) + hint(text, words), text)

    def check(self, value: Any, where: str) -> Any:
        """Return a value that Python gives, numbers in the option's type. Raises SpecError for one that it cannot be."""
        if not (self.kinds or self.choices) or (value is None and self.is_optional):
            return value
        if self.is_list:
            if isinstance(value, str) or not isinstance(value, Iterable):
                found = "None" if value is None else told_apart(value)
                raise SpecError(where, f"a list of {', '.join(self.choices)}", found)
            return tuple(replace(self, is_list=False).check(each, where) for each in value)
        if any(value is choice or (type(value) is type(choice) and value == choice) for choice in self.choices):
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
        elif isinstance(value, str | PathLike) and str in self.kinds:
            return fspath(value)
        expected = "True or False" if self.kinds == (bool,) else self._expected(value)
        raise SpecError(where, expected, "None" if value is None else told_apart(value))

    def _expected(self, found: Any) -> str:
        """Return what a value must be; that it must be finite is said where that is what it is not."""
        is_infinite = isinstance(found, float) and abs(found) == math.inf
        return f"finite {self.expected}" if is_infinite and self._is_finite and self.unit in _UNITS else self.expected

    def _is_within(self, value: Any) -> bool:
        if self.is_most and math.inf == self.most == -self.least:
            return True  # whoever takes it says what it must be
        above = value >= self.least if self.is_least else value > self.least
        return bool(above and (value <= self.most if self.is_most else value < self.most))

    def in_spec(self, value: Any) -> str:
        """Return a value as a spec says it; empty for an object that none can say."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            return short if float(short := f"{value:g}") == value else repr(value)
        if isinstance(value, tuple):
            return ",".join(map(self.in_spec, value))
        if value is None or isinstance(value, str | int):
            return "" if value is None else str(value)
        return str(getattr(value, "spec", "") or getattr(value, "__name__", ""))


def _one_of(words: list[str], choices: Iterable[Any]) -> str:
    told = [*words, *map(str, choices)]
    comma = "," * any("," in each for each in told)
    return f"{comma} or ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


@cache
def options_of(factory: Callable[..., Any]) -> Mapping[str, Option]:
    """Return the options of what makes a thing, by name and in their order: a class, a function, or keys of a file."""
    if keys := getattr(factory, "model_fields", None):  # a model of pydantic's
        return {name: _option_of_key(name, key) for name, key in keys.items()}
    hints = _hints(factory.__init__ if isinstance(factory, type) else factory)  # type: ignore[misc]
    found = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            annotation = hints.get(name, _NAMED.get(parameter.annotation, parameter.annotation))
            option = option_of(name, parameter.default, annotation)
            several, by_key = parameter.kind is parameter.VAR_POSITIONAL, parameter.kind is parameter.KEYWORD_ONLY
            found[name] = replace(option, several=several, by_key=by_key)
    return found


def _option_of_key(name: str, key: FieldInfo) -> Option:
    default = REQUIRED if key.is_required() else key.get_default(call_default_factory=True)
    return option_of(name, default, Annotated[key.annotation, *key.metadata, Doc(key.description or "")])


def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations that can be evaluated: some are there for type checkers alone, or are no types."""
    plain = inspect.unwrap(maker)
    found: dict[str, Any] = {}
    for name, annotation in getattr(plain, "__annotations__", {}).items():
        with suppress(Exception):
            one = SimpleNamespace(__annotations__={name: annotation})
            found |= get_type_hints(one, getattr(plain, "__globals__", None), include_extras=True)
    return found


def option_of(name: str, default: Any, annotation: Any) -> Option:
    """Return the option that an annotation declares; without one that says it, its type is that of its default."""
    extras: list[Any] = []
    kinds, choices = _types(annotation, extras)
    for kind in (bool, int, float):
        if not (extras or choices) and isinstance(default, kind):
            kinds = kinds if kind in kinds else (kind, *kinds)
            break
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
    declared = get_args(annotation)[0] if extras else annotation
    is_list = any(get_origin(part) is Sequence for part in (declared, *get_args(declared)))
    facts |= {"is_optional": NoneType in get_args(declared), "is_list": is_list}
    return Option(name=name, default=default, kinds=kinds, choices=choices, **facts)


def _types(annotation: Any, extras: list[Any]) -> tuple[tuple[type, ...], tuple[Any, ...]]:
    """Return the plain types of an annotation and the values that it names, neither where it takes other objects.

    What ``Annotated`` says beside the type is added to ``extras``.
    """
    if get_origin(annotation) is Annotated:
        extras += get_args(annotation)[1:]
        return _types(get_args(annotation)[0], extras)
    if get_origin(annotation) is Literal:
        return (), get_args(annotation)
    if isinstance(annotation, NewType):
        return _types(annotation.__supertype__, extras)
    if get_origin(annotation) is Sequence and get_origin(get_args(annotation)[0]) is Literal:
        return (), get_args(get_args(annotation)[0])
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
        option = options.get(key)
        text = "" if option is None or option.several else option.in_spec(value)
        if option is None or not text or text == option.in_spec(option.default):
            continue
        is_alone = len(options) == 1 and not option.by_key
        said.append(text if option.default is REQUIRED or is_alone else f"{key}={text}")
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
        try:
            given = signature.bind(*arguments, **keywords)
        except TypeError:
            return function(*arguments, **keywords)  # Python's own words for what is missing, or too much
        for key, value in list(given.arguments.items())[is_init:]:
            option = options.get(key)
            if option is None or value is option.default:
                continue
            where = f"{(kind or function).__name__}, {key}"
            value = tuple(option.check(one, where) for one in value) if option.several else option.check(value, where)
            given.arguments[key] = unusual[key] = value
        result = function(*given.args, **given.kwargs)
        if kind is not None and getattr(kind, "spec", None):
            for maker in kind.__mro__:
                if vars(maker).get("__init__") is call:
                    break
            # A class that makes itself in its own way has the spec of another only if that is registered, too.
            is_inherited = maker is not kind and kind.__init__ is call
            name = kind.spec if is_inherited else vars(maker).get("spec", "")
            if name:
                arguments[0].spec = spec_text(name, options_of(maker), unusual) if unusual else name
        return result

    return cast(F, call)


@dataclass(frozen=True, eq=False)
class OptionModel:
    """Base of models of options: dataclasses whose fields are annotated as options are, and checked when one is made."""

    def __post_init__(self) -> None:
        kind: Callable[..., OptionModel] = type(self)
        for name, option in options_of(kind).items():
            try:
                object.__setattr__(self, name, option.check(getattr(self, name), name))
            except SpecError as error:
                is_of_names = not option.kinds and error.expected == option.expected
                expected = f"one of {', '.join(option.choices)}" if is_of_names else error.expected
                raise SpecError(name, expected, error.found) from None


def with_options(
    model: Callable[P, Model],
) -> Callable[[Callable[[Thing, Model], Made]], Callable[Concatenate[Thing, P], Made]]:
    """Decorator: a function of a thing and of a model's options, which takes each option as an argument of its own.

    Its signature has the options with their types, and its docstring says what they mean.
    """
    hints = _hints(model.__init__)

    def decorate(function: Callable[[Thing, Model], Made]) -> Callable[Concatenate[Thing, P], Made]:
        own = inspect.signature(function)
        types = {name: get_args(hint)[0] if get_origin(hint) is Annotated else hint for name, hint in hints.items()}
        options = [each.replace(annotation=types[name]) for name, each in inspect.signature(model).parameters.items()]
        signature = own.replace(parameters=[next(iter(own.parameters.values())), *options])
        by_name = [each.name for each in options if each.kind is each.KEYWORD_ONLY]
        by_place = len(options) - len(by_name)

        @wraps(function)
        def call(thing: Thing, *arguments: P.args, **options: P.kwargs) -> Made:
            try:
                signature.bind(thing, *arguments, **options)
            except TypeError as error:
                told = f"; name these options: {', '.join(by_name)}" if len(arguments) > by_place else ""
                raise TypeError(f"{function.__name__}() {error}{told}") from None
            return function(thing, model(*arguments, **options))

        units = {name: f" ({option.unit})" if option.unit else "" for name, option in options_of(model).items()}
        meanings = [f"    {name}: {option.meaning}{units[name]}." for name, option in options_of(model).items()]
        call.__doc__ = "\n".join([f"{inspect.getdoc(function)}\n\nArgs:", *meanings])
        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate
