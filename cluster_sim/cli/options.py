"""Options of commands that are settings of a run."""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from cluster_sim.cli.completion import NAMED, Named
from cluster_sim.errors import InputError
from cluster_sim.files.reading import STDIN
from cluster_sim.options import REQUIRED, Option, options_of
from cluster_sim.run.settings import SETTINGS, TIME_UNITS, taken

_PART = re.compile(rf"([0-9]+(?:\.[0-9]+)?)\s*({'|'.join(TIME_UNITS)})\s*")  # of a time with units: 2d, 1.5h


def seconds_in(text: str) -> float:
    """Return the seconds in ``90``, ``1.5h``, ``5d`` or ``2d12h``; NaN for what is no time.

    >>> seconds_in("2d12h"), seconds_in("90")
    (216000.0, 90.0)
    """
    try:
        return float(text)
    except ValueError:
        pass
    from cluster_sim.workload.job_table import TIME_UNITS as SECONDS  # brings numpy

    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        return math.nan
    return math.fsum(float(number) * SECONDS[TIME_UNITS[unit]] for number, unit in _PART.findall(text))


class RunTime(click.ParamType):
    """A time of a run: seconds, or with units."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in seconds."""
        seconds = seconds_in(str(value))
        if math.isnan(seconds) and str(value).strip().lower() != "nan":
            self.fail(f"expected seconds, or a time such as 5d, 12h or 2d12h, found {value}", param, ctx)
        return seconds


class Seconds(click.ParamType):
    """A time above 0: seconds, or with units."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that ``value`` says; inf and NaN are no times."""
        seconds = seconds_in(str(value))
        if not 0 < seconds < math.inf:
            also = ", or a time such as 5d, 12h or 2d12h" if math.isnan(seconds) else ""
            finite = " finite" if seconds == math.inf else ""
            self.fail(f"expected a{finite} number above 0{also}, found {value}", param, ctx)
        return seconds


class Names(click.ParamType):
    """Names with commas between them; ``none`` for no name."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names, which whoever takes them checks."""
        if isinstance(value, str):
            return () if value == "none" else tuple(value.split(","))
        return tuple(value)


class TimeUnit(click.ParamType):
    """A unit of time by its symbol or its name."""

    name = "unit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the unit's name."""
        if value not in {*TIME_UNITS, *TIME_UNITS.values()}:
            self.fail(f"expected one of {', '.join(TIME_UNITS)}, found {value}", param, ctx)
        return TIME_UNITS.get(value, str(value))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return only the options that the user gave."""
    return {name: value for name, value in options.items() if value not in (None, ())}


class DeclaredOption(click.Option):
    """An option of a command, made from a declared one."""

    def __init__(self, flags: Sequence[str], declared: Option, **more: Any):
        super().__init__(flags, **more)
        self.declared = declared


def setting_option(name: str, meaning: str | None = None, **other: Any) -> Callable[[Any], Any]:
    """Make the option of a setting; ``meaning`` replaces the usual one, ``other`` click's arguments.

    It has no default of its own: a value that was not given may still come from a configuration file.
    """
    setting = SETTINGS[name]
    told = str(setting.told("command line") if meaning is None else meaning)
    more: dict[str, Any] = {"metavar": setting.metavar}
    if setting.is_pair:
        more |= {"nargs": 2, "type": RunTime()}
    elif setting.is_list:
        more["multiple"] = True
        told += "; may be given several times"
    elif name == "time_unit":
        more["type"] = TimeUnit()
    else:
        more |= _values_of(setting.option)
    shown = isinstance(setting.default, int | str) and not isinstance(setting.default, bool) and meaning is None
    text = _sentence(told) + (f" [default: {setting.default}]" if shown else "")
    more |= {"cls": DeclaredOption, "declared": setting.option}
    return click.option(*(setting.flags or _flags(name)), help=text, **more | other)


def _flags(name: str) -> tuple[str, ...]:
    return (f"--{name.replace('_', '-')}",)


def _sentence(meaning: str) -> str:
    """Return a meaning as a sentence of a command's help, without the marks of Markdown."""
    return f"{meaning[0].upper()}{meaning[1:]}.".replace("`", "")


def _values_of(option: Option) -> dict[str, Any]:
    """Return click's arguments for the values that an option takes."""
    if option.kinds == (bool,):
        return {"is_flag": True, "default": None}
    if option.name in NAMED:
        return {"type": Named(option.name)}
    if option.is_list:
        return {"type": Names()} if option.choices else {"multiple": True}
    if option.choices:
        return {"type": click.Choice(option.choices)}
    if option.kinds == (int,):
        return {"type": click.IntRange(int(option.least), int(option.most) if option.most < math.inf else None)}
    return {"type": Seconds()} if option.kinds == (float,) else {}


class DeclaringCommand(click.Command):
    """A command with options that another package declares, which is imported when somebody asks for them.

    ``declared_by`` is the function or the model of options that does, ``MODULE:NAME``, or several with spaces between them.
    ``declared`` has the options' names, each with click's arguments, and its flags where these are not its name.
    """

    def __init__(self, *arguments: Any, declared_by: str, declared: Mapping[str, Mapping[str, Any]], **more: Any):
        super().__init__(*arguments, **more)
        self._declared_by, self._declared = declared_by, declared

    @property
    def params(self) -> list[click.Parameter]:
        """Return all options."""
        if self._declared:
            places = [place.partition(":") for place in self._declared_by.split()]
            known = ChainMap(*[dict(options_of(getattr(import_module(module), name))) for module, _, name in places])
            self._params += [_declared_option(known[name], **other) for name, other in self._declared.items()]
            self._declared = {}
        return self._params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        self._params = params


def _declared_option(option: Option, flags: Sequence[str] = (), **other: Any) -> DeclaredOption:
    """Make the option of a command from a declared one, with its default, which the help shows."""
    more: dict[str, Any] = _values_of(option) | other
    told = option.meaning + "; may be given several times" * more.get("multiple", False)
    if not more.get("multiple"):
        default = False if option.default is REQUIRED and option.kinds == (bool,) else option.default
        shown = default is not None and default is not False
        more |= {"default": option.in_spec(default) if shown else default, "show_default": shown}
    return DeclaredOption([*(flags or _flags(option.name)), option.name], option, help=_sentence(told), **more | other)


def setting_options(*names: str) -> Callable[[Any], Any]:
    """Decorator: the options of several settings."""

    def decorate(command: Any) -> Any:
        for name in reversed(names):
            command = setting_option(name)(command)
        return command

    return decorate


def out_option(meaning: str = "Folder for results.", **other: Any) -> Callable[[Any], Any]:
    """Make the option for the folder that receives what a command leaves, which must be given unless ``other`` says so."""
    more: dict[str, Any] = {"required": True, "type": click.Path(file_okay=False), "metavar": "DIR", "help": meaning}
    return click.option("--out", **more | other)


def specs_option(*names: str, of: str, **other: Any) -> Callable[[Any], Any]:
    """Make an option for specs of a setting's kind, which may be given several times."""
    return click.option(*names, type=Named(of), multiple=True, **other)


def simulation_options(scheduler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorator: all options of a simulation, with ``scheduler``, the one in which the commands differ, among them."""

    def decorate(command: Any) -> Any:
        options = [
            scheduler if each.name == "scheduler" else setting_option(each.name) for each in taken("command line")
        ]
        for option in reversed([*options, out_option()]):
            command = option(command)
        return command

    return decorate


def check_out(option: str, out: object) -> None:
    """Raise InputError for an ``out`` that is empty (it would be the working directory) or ``-``, standard output."""
    if out == "":
        raise InputError(option, "the name of what to write", "nothing (an empty text)")
    if out == STDIN:
        raise InputError(option, "the name of what to write", "- (results do not go to standard output)")
