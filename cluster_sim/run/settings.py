"""The settings of a run: each is a field here, annotated as any option is, with what else is to say of a setting.

The fields make the options of the commands (:mod:`cluster_sim.cli.options`), the keys of configuration files
(:mod:`cluster_sim.cli.own_config`) and the factors of sweeps (:mod:`analysis.sweep.config`). They make the keys of a
training's environment (:mod:`learning.training.configuration`) and the rules of its episodes
(:mod:`learning.tasks.episodes`). A simulation is made with them (:func:`cluster_sim.run.making.simulation_of`), and a
result keeps them (:meth:`cluster_sim.records.result.Result.of`).

To add a setting, write a field, and have Simulation use its ``parameter``. Where it is not taken, the field says why.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from cluster_sim.errors import InputError
from cluster_sim.options import Option, option_of
from cluster_sim.run.quirks import QUIRKS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from cluster_sim.workload.workload import Workload

Place = Literal["command line", "configuration", "sweep", "environment"]
"""Places where settings are given."""

TimeUnit = Literal["ms", "s", "min", "h", "d"]
TIME_UNITS: dict[str, str] = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
FirstJobs = Annotated[int, Ge(1)]
Shake = Annotated[float, Gt(0), Unit("s")]
AnyTimeUnit = Literal["ms", "s", "min", "h", "d", "milliseconds", "seconds", "minutes", "hours", "days"]


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The reason why a setting does not exist in a place, instead of a meaning."""

    because: str


Told = Mapping[Place, str | NotTaken]
"""Meaning of a setting in places where it is another than its usual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting: an option of a run, which is annotated as any option is, and how it is given and passed on."""

    option: Option = field(
        default_factory=lambda: Option(name="")
    )  #: Made from the field: its name, type, bounds, unit, default and meaning.
    annotation: Any = None  #: Its type and bounds, without None.
    metavar: str | None = None  #: For the value, in the help of commands.
    flags: tuple[str, ...] = ()  #: Of its option, as click takes them; its name unless said otherwise.
    key: str = ""  #: In configurations; its name unless said otherwise.
    file: bool = False  #: It may be the name of a file, which starts in the folder of the configuration.
    of_workload: bool = False  #: It says how the workload is read: sweeps and environments have it among its keys.
    parameter: str = ""  #: The parameter of Simulation that takes the value as it stands.
    recorded: str = ""  #: The attribute of a simulation that says in summary.json what was run.
    elsewhere: Told = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of its field."""
        return self.option.name

    @property
    def default(self) -> Any:
        """Return its default; ``...`` where it must be given."""
        return self.option.default

    @property
    def meaning(self) -> str:
        """Return what it means, where no place says otherwise."""
        return self.option.meaning

    def told(self, place: Place) -> str | NotTaken:
        """Return what it means in a place, or why it is not taken there."""
        return self.elsewhere.get(place, self.meaning)

    @property
    def is_spec(self) -> bool:
        """Return whether it names a policy or a model."""
        return bool(self.recorded) and self.option.kinds == (str,)

    @property
    def checked(self) -> Any:
        """Return the type with its bounds, for pydantic."""
        from pydantic import Field

        if self.option.kinds == (float,):
            return Annotated[self.annotation, Field(allow_inf_nan=False)]
        if self.is_pair:
            return Annotated[self.annotation, Field(strict=False)]  # documents have lists
        return list[str] if self.is_list else self.annotation

    @property
    def is_pair(self) -> bool:
        """Return whether it is two times."""
        return get_args(self.annotation)[:1] == (tuple[float, float],)

    @property
    def is_list(self) -> bool:
        """Return whether it is any number of texts."""
        return get_args(self.annotation)[:1] == (tuple[str, ...],)


_NOT_YET = NotTaken("not offered yet")
_AGENT = NotTaken("the agent decides; what decides beside it is an option of the environment")
_IRMASIM = NotTaken("only IRMaSim's options.json says it")
_NOT_REPEATED: Told = {"sweep": _NOT_YET, "environment": _NOT_YET}
_ONCE: Told = dict.fromkeys(("sweep", "environment"), NotTaken("of a single run's files"))


@dataclass(frozen=True, kw_only=True)
class _Inputs:
    """The inputs of a run, with its policies and models."""

    platform: Annotated[
        str | None,
        Doc(
            "file, homogeneous:nodes=N,cores=N or mixed:3x64@3.0,9x8@4.2;"
            " left out with an SWF log, as many one-core nodes as it says its machine had"
        ),
        Setting(
            metavar="P",
            flags=("--platform", "-p"),
            file=True,
            elsewhere={
                "sweep": "files or specs; as an SWF log says where left out",
                "environment": "a file, or a spec such as homogeneous:nodes=4,cores=8; without, a small built-in case",
            },
        ),
    ] = None
    platform_name: Annotated[
        str | None,
        Doc("which of several"),
        Setting(elsewhere=dict.fromkeys(get_args(Place), _IRMASIM)),
    ] = None
    workload: Annotated[
        str,
        Doc("SWF, JSON (IRMaSim) or CSV file, or sacct's output, .gz too"),
        Setting(
            metavar="W",
            flags=("--workload", "-w"),
            file=True,
            elsewhere={
                "sweep": "files, specs of generators, or mappings with the keys below",
                "environment": "a file, or a spec such as lublin:jobs=1000,nodes=64",
            },
        ),
    ]
    slice: Annotated[
        tuple[float, float] | None,
        Doc("take only the jobs submitted from … up to … (s)"),
        Setting(
            metavar="FROM TO",
            of_workload=True,
            elsewhere={"command line": "take only the jobs submitted from FROM up to TO: s, 5d, 12h"},
        ),
    ] = None
    first: Annotated[
        FirstJobs | None,
        Doc("take only the first N jobs, of a slice if there is one"),
        Setting(metavar="N", of_workload=True),
    ] = None
    shake: Annotated[
        Shake | None,
        Doc("move every submission by up to so many seconds to and fro, drawn with the seed"),
        Setting(
            metavar="S",
            of_workload=True,
            elsewhere={
                "sweep": "each replication moves every submission by up to so many seconds to and fro, drawn with its seed",
                "environment": _NOT_YET,
            },
        ),
    ] = None
    reservations: Annotated[
        str | None,
        Doc("nodes set aside for a time: advance reservations, maintenance"),
        Setting(metavar="FILE", file=True, parameter="reservations", elsewhere=_NOT_REPEATED),
    ] = None
    accounts: Annotated[
        str | None,
        Doc("accounts, shares and limits, as sacctmgr prints them"),
        Setting(metavar="FILE", file=True, parameter="accounts", elsewhere=_NOT_REPEATED),
    ] = None
    time_unit: Annotated[
        AnyTimeUnit | None,
        Doc(f"what times in the workload count: {', '.join(TIME_UNITS)}; s unless said otherwise"),
        Setting(metavar="UNIT", of_workload=True),
    ] = None
    think_times: Annotated[
        bool,
        Doc("submit a job think_time after the end of its preceding_job, not at the log's time"),
        Setting(of_workload=True, elsewhere={"environment": _NOT_YET}),
    ] = False
    time_zone: Annotated[
        str | None,
        Doc("where the times of sacct's output were shown, such as Europe/Berlin; UTC unless said otherwise"),
        Setting(metavar="ZONE", of_workload=True, elsewhere=_NOT_REPEATED),
    ] = None
    anonymise: Annotated[
        bool,
        Doc("users, groups, accounts and applications as u1, g1, a1, j1, in the order of their first jobs"),
        Setting(of_workload=True, elsewhere=_NOT_REPEATED),
    ] = False
    ignore_gpus: Annotated[
        bool,
        Doc("run jobs that need GPUs as if they needed none, instead of rejecting them where the platform has too few"),
        Setting(of_workload=True, elsewhere=_NOT_REPEATED),
    ] = False
    scheduler: Annotated[
        str,
        Doc("such as fcfs or list:first/high_gflops,blocking=no"),
        Setting(
            metavar="S",
            flags=("--scheduler", "-s"),
            recorded="scheduler",
            elsewhere={"sweep": "specs, list:JOB/NODE with * and ? for any order, or trained", "environment": _AGENT},
        ),
    ] = "fcfs"
    power_policy: Annotated[
        str,
        Doc("when nodes sleep"),
        Setting(metavar="Q", recorded="power_policy", elsewhere={"sweep": "specs, or trained", "environment": _AGENT}),
    ] = "always-on"
    contention_model: Annotated[
        str | None,
        Doc("in place of the platform's, such as piecewise:k=1"),
        Setting(metavar="SPEC", recorded="contention"),
    ] = None
    power_model: Annotated[
        str | None, Doc("in place of the platform's, such as baseline"), Setting(metavar="SPEC", recorded="power_model")
    ] = None
    network_model: Annotated[
        str,
        Doc("what communication between nodes costs"),
        Setting(
            metavar="SPEC",
            parameter="network",
            recorded="network_model",
            elsewhere={
                "environment": NotTaken("not offered yet: what agents see and are rewarded for knows no network")
            },
        ),
    ] = "none"
    failures: Annotated[
        str | None,
        Doc("how nodes fail and are repaired, such as exponential:mtbf=86400,repair=3600 or trace:FILE"),
        Setting(
            metavar="SPEC",
            parameter="failures",
            recorded="failures",
            elsewhere={
                "sweep": "specs; none where nodes do not fail",
                "environment": NotTaken("not offered yet: what agents see and are rewarded for knows no failures"),
            },
        ),
    ] = None
    process: Annotated[
        tuple[str, ...],
        Doc(
            "a function in a Python file that is called with the simulation, such as noise.py:backup; a generator runs as a"
            " SimPy process"
        ),
        Setting(
            metavar="FILE.py:NAME",
            flags=("--process", "process"),
            parameter="processes",
            recorded="processes",
            elsewhere={
                "sweep": "lists of functions in Python files, noise.py:backup, that are called with the simulation",
                "environment": _NOT_YET,
            },
        ),
    ] = ()
    seed: Annotated[
        int,
        Ge(0),
        Doc("of everything random"),
        Setting(
            metavar="N",
            parameter="seed",
            recorded="seed",
            elsewhere={
                "sweep": NotTaken("each replication has its own, derived from the sweep's"),
                "environment": NotTaken("each episode has its own, drawn with the training's"),
            },
        ),
    ] = 0


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a run, under the names of Simulation's parameters; episodes of environments have them, too."""

    enforce_walltime: Annotated[
        bool,
        Doc("kill jobs at their requested time"),
        Setting(parameter="enforce_walltime", recorded="enforce_walltime"),
    ] = False
    suspended_time_counts: Annotated[
        bool,
        Doc("a job that is suspended uses up its requested time meanwhile"),
        Setting(
            parameter="suspended_time_counts",
            recorded="suspended_time_counts",
            elsewhere={"environment": NotTaken("agents suspend no jobs")},
        ),
    ] = False
    quirks: Annotated[
        tuple[str, ...],
        Doc(f"imitate a published program in one respect: {', '.join(QUIRKS)}"),
        Setting(
            metavar="NAME",
            flags=("--quirk", "quirks"),
            parameter="quirks",
            recorded="quirks",
            elsewhere={
                "sweep": "lists of names",
                "environment": NotTaken("they are for comparisons with published numbers, not to learn from"),
            },
        ),
    ] = ()
    until: Annotated[
        float | None,
        Gt(0),
        Unit("s"),
        Doc("the run stops there, at the latest (s)"),
        Setting(
            metavar="S",
            parameter="until",
            recorded="until",
            elsewhere={"command line": "stop at S seconds on the run's clock"},
        ),
    ] = None

    def rules(self) -> dict[str, Any]:
        """Return the rules alone, by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Rules)}


@dataclass(frozen=True, kw_only=True)
class _Outputs:
    """The outputs of a run."""

    explain: Annotated[
        bool,
        Doc("keep a log of the scheduler's decisions and reasons"),
        Setting(parameter="explain", elsewhere=_ONCE),
    ] = False
    report: Annotated[
        bool,
        Doc("leave an interactive report.html, too"),
        Setting(elsewhere=_ONCE),
    ] = False
    file_format: Annotated[
        Literal["csv", "parquet"],
        Doc("of tables"),
        Setting(flags=("--format", "file_format"), key="format", elsewhere=_ONCE),
    ] = "csv"


@dataclass(frozen=True, kw_only=True)
class RunSettings(_Outputs, Rules, _Inputs):
    """All settings of a run, in the order of the entries, which is that of the bases from right to left."""

    config: str | None = None  # the file that the settings were read from: no setting of its own
    from_config: frozenset[str] = frozenset()  # which of them it gave

    def specs(self) -> dict[str, str]:
        """Return the policies and models that are named, as they were typed."""
        named = {name: getattr(self, name) for name, setting in SETTINGS.items() if setting.is_spec}
        return {name: spec for name, spec in named.items() if spec is not None}

    def said_by(self, name: str) -> str:
        """Return what gave a setting, for messages: the configuration file, or "" for the command line."""
        return self.config if self.config and name in self.from_config else ""

    def files(self) -> list[str | None]:
        """Return what may be files: what was named as such, or in a spec, and the configuration."""
        from cluster_sim.files.source import files_of, source_of

        named = [getattr(self, name) for name, setting in SETTINGS.items() if setting.file]
        specs = [*(spec for key, spec in self.specs().items() if key != "scheduler"), *self.process]
        specs += [source for source in (self.platform, self.workload) if source and source_of(source) is not None]
        others = [name for spec in specs for name in files_of(spec)]
        return [*named, self.config, *others]


def setting_of(name: str, annotation: Any, default: Any = ...) -> Setting:
    """Return the setting that a field's annotation declares."""
    declared, *extras = get_args(annotation)
    some = [part for part in get_args(declared) if part is not NoneType]
    kind: Any = reduce(or_, some) if NoneType in get_args(declared) else declared
    [setting] = [extra for extra in extras if isinstance(extra, Setting)]
    plain = Annotated[kind, *(extra for extra in extras if extra is not setting)]
    option = option_of(name, default, annotation)
    return dataclasses.replace(setting, option=option, annotation=plain, key=setting.key or name)


_HINTS = get_type_hints(RunSettings, include_extras=True)
SETTINGS: Mapping[str, Setting] = {
    each.name: setting_of(each.name, _HINTS[each.name], ... if each.default is dataclasses.MISSING else each.default)
    for each in dataclasses.fields(RunSettings)
    if get_origin(_HINTS[each.name]) is Annotated
}
"""Every setting by its name."""


def taken(place: Place) -> list[Setting]:
    """Return the settings that a place takes."""
    return [setting for setting in SETTINGS.values() if isinstance(setting.told(place), str)]


Keys = TypeVar("Keys", bound="BaseModel")


def as_in_a_run(setting: Setting) -> tuple[Any, Any]:
    """Return the type and the default of a key that may be left out to mean a run's own default."""
    return (setting.checked | None if setting.default is None else setting.checked), setting.default


def with_settings(place: Place, shape: Callable[[Setting], tuple[Any, Any]]) -> Callable[[type[Keys]], type[Keys]]:
    """Decorator: a pydantic model with a key for each setting that the place takes, but for those it has already.

    ``shape`` gives the type and the default of a key. In sweeps, a workload's settings are among its own keys.
    """
    from pydantic import Field, create_model

    def decorate(model: type[Keys]) -> type[Keys]:
        fields: dict[str, Any] = {}
        for setting in sorted(taken(place), key=lambda each: each.default is not ...):  # what must be given, first
            if setting.key not in model.model_fields and not (place == "sweep" and setting.of_workload):
                kind, default = shape(setting)
                fields[setting.key] = (kind, Field(default=default, description=str(setting.told(place))))
        named: Any = {"__base__": model, "__module__": model.__module__, "__doc__": model.__doc__}
        made: Any = create_model(model.__name__, **named, **fields)
        return made  # type: ignore[no-any-return]

    return decorate


def part_of(workload: Workload, span: tuple[float, float] | None, first: int | None) -> Workload:
    """Return what ``slice`` and ``first`` leave of a workload. Raises InputError for a bad or empty slice."""
    part = workload if span is None else workload.slice(*span)
    if span is not None and len(workload) and not len(part):
        times = workload.columns["submit_time"]
        expected = f"times between which jobs are submitted: {times[0]:.15g} to {times[-1]:.15g} s"
        after = int(times.searchsorted(span[0]))
        if 0 < after < len(times):
            expected += f", but for {times[after - 1]:.15g} to {times[after]:.15g} s"
        raise InputError("slice", expected, " to ".join(f"{time:.15g}" for time in span))
    return part if first is None else part.first(first)


def located(folder: str | os.PathLike[str], source: str) -> str:
    """Return a file that a configuration in ``folder`` names, as an absolute path; or a spec as it is."""
    from cluster_sim.files.reading import absolute
    from cluster_sim.files.source import source_of

    if source_of(source) is not None:
        return located_policy(folder, source)
    return absolute(folder, source) if names_a_file(source) else source


def located_policy(folder: str | os.PathLike[str], spec: str) -> str:
    """Return the spec of a policy in a configuration in ``folder``, with absolute paths of the files that it names.

    A ready agent, ``learned:NAME``, is ``learned:ready:NAME`` where there is no such folder.
    """
    from cluster_sim.files.reading import absolute
    from cluster_sim.files.source import policy_with_place

    return policy_with_place(spec, lambda name: absolute(folder, name))


def names_a_file(source: str) -> bool:
    """Return whether a file names a platform or a workload, not a spec such as ``homogeneous:nodes=4,cores=2``."""
    from cluster_sim.platform.specs import is_platform_spec
    from cluster_sim.workload.workload import WORKLOAD_GENERATORS

    return not is_platform_spec(source) and source.partition(":")[0] not in WORKLOAD_GENERATORS
