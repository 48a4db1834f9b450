"""The settings of a run: each is one entry here, with its type, its default, its meaning and who takes it.

The entries make the options of the commands (:mod:`cluster_sim.cli.options`), the keys of configuration files
(:mod:`cluster_sim.cli.own_config`) and the factors of sweeps (:mod:`analysis.sweep.config`). They make the keys of a
training's environment (:mod:`learning.training.configuration`) and the rules of its episodes
(:mod:`learning.tasks.episodes`). A simulation is made with them (:func:`cluster_sim.run.making.simulation_of`), and a
result keeps them (:meth:`cluster_sim.records.result.Result.of`).

To add a setting, write an entry, and have Simulation use its ``parameter``. Where it is not taken, the entry says why.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from cluster_sim.workload.workload import Workload

Place = Literal["command line", "configuration", "sweep", "environment"]
"""Places where settings are given."""

TimeUnit = Literal["ms", "s", "min", "h", "d"]
TIME_UNITS: dict[str, str] = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The reason why a setting does not exist in a place, instead of a meaning."""

    because: str


Told = str | NotTaken | None
"""Meaning of a setting in a place; None: the same as everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An entry. Its type and its name are those of its field in :class:`RunSettings`."""

    name: str = ""
    kind: Any = None  #: Its type, without None.
    default: Any  #: ... where it must be given.
    meaning: str = ""
    metavar: str | None = None  #: For the value, in the help of commands.
    flags: tuple[str, ...] = ()  #: Of its option, as click takes them; its name unless said otherwise.
    key: str = ""  #: In configurations; its name unless said otherwise.
    least: int | None = None  #: The smallest whole number; times are above 0.
    allowed: tuple[str, ...] = ()  #: All values, if these are few.
    unit: str = ""
    file: bool = False  #: It may be the name of a file, which starts in the folder of the configuration.
    of_workload: bool = False  #: It says how the workload is read: sweeps and environments have it among its keys.
    parameter: str = ""  #: The parameter of Simulation that takes the value as it stands.
    recorded: str = ""  #: The attribute of a simulation that says in summary.json what was run.
    nothing: str = ""  #: What stands there where a simulation has no such policy.
    command: Told = None
    configuration: Told = None
    sweep: Told = None
    environment: Told = None

    def told(self, place: Place) -> str | NotTaken:
        """Return what it means in a place, or why it is not taken there."""
        own: Told = getattr(self, "command" if place == "command line" else place)
        return self.meaning if own is None else own

    @property
    def is_spec(self) -> bool:
        """Return whether it names a policy or a model."""
        return bool(self.recorded) and self.kind is str

    @property
    def checked(self) -> Any:
        """Return the type with its bounds, for pydantic."""
        from pydantic import Field

        if self.allowed:
            return Literal[self.allowed]
        if self.kind is float:
            return Annotated[float, Field(gt=0, allow_inf_nan=False)]
        if self.kind is int:
            return Annotated[int, Field(ge=self.least)]
        if self.is_pair:
            return Annotated[self.kind, Field(strict=False)]  # documents have lists
        return list[str] if get_origin(self.kind) is tuple else self.kind

    @property
    def is_pair(self) -> bool:
        """Return whether it is two times."""
        return get_args(self.kind) == (float, float)


def _setting(default: Any, meaning: str, **more: Any) -> Any:
    entry = Setting(default=default, meaning=meaning, **more)
    return dataclasses.field(**({} if default is ... else {"default": default}), metadata={"setting": entry})


_RUN_ONLY = NotTaken("of a single run's files")
_NOT_YET = NotTaken("not offered yet")
_AGENT = NotTaken("the agent decides; what decides beside it is an option of the environment")
_IRMASIM = NotTaken("only IRMaSim's options.json says it")


@dataclass(frozen=True, kw_only=True)
class _Inputs:
    """The inputs of a run, with its policies and models."""

    platform: str | None = _setting(
        None,
        "file, homogeneous:nodes=N,cores=N or mixed:3x64@3.0,9x8@4.2;"
        " left out with an SWF log, as many one-core nodes as it says its machine had",
        metavar="P",
        flags=("--platform", "-p"),
        file=True,
        sweep="files or specs; as an SWF log says where left out",
        environment="a file, or a spec such as homogeneous:nodes=4,cores=8; without, a small built-in case",
    )
    platform_name: str | None = _setting(
        None, "which of several", command=_IRMASIM, configuration=_IRMASIM, sweep=_IRMASIM, environment=_IRMASIM
    )
    workload: str = _setting(
        ...,
        "SWF, JSON (IRMaSim) or CSV file, or sacct's output, .gz too",
        metavar="W",
        flags=("--workload", "-w"),
        file=True,
        sweep="files, specs of generators, or mappings with the keys below",
        environment="a file, or a spec such as lublin:jobs=1000,nodes=64",
    )
    slice: tuple[float, float] | None = _setting(
        None,
        "take only the jobs submitted from … up to … (s)",
        metavar="FROM TO",
        of_workload=True,
        command="take only the jobs submitted from FROM up to TO: s, 5d, 12h",
    )
    first: int | None = _setting(
        None, "take only the first N jobs, of a slice if there is one", metavar="N", least=1, of_workload=True
    )
    shake: float | None = _setting(
        None,
        "move every submission by up to so many seconds to and fro, drawn with the seed",
        metavar="S",
        unit="s",
        of_workload=True,
        sweep="each replication moves every submission by up to so many seconds to and fro, drawn with its seed",
        environment=_NOT_YET,
    )
    reservations: str | None = _setting(
        None,
        "nodes set aside for a time: advance reservations, maintenance",
        metavar="FILE",
        file=True,
        parameter="reservations",
        sweep=_NOT_YET,
        environment=_NOT_YET,
    )
    accounts: str | None = _setting(
        None,
        "accounts, shares and limits, as sacctmgr prints them",
        metavar="FILE",
        file=True,
        parameter="accounts",
        sweep=_NOT_YET,
        environment=_NOT_YET,
    )
    time_unit: str | None = _setting(
        None,
        f"what times in the workload count: {', '.join(TIME_UNITS)}; s unless said otherwise",
        metavar="UNIT",
        allowed=(*TIME_UNITS, *TIME_UNITS.values()),
        of_workload=True,
    )
    think_times: bool = _setting(
        False,
        "submit a job think_time after the end of its preceding_job, not at the log's time",
        of_workload=True,
        environment=_NOT_YET,
    )
    time_zone: str | None = _setting(
        None,
        "where the times of sacct's output were shown, such as Europe/Berlin; UTC unless said otherwise",
        metavar="ZONE",
        of_workload=True,
        sweep=_NOT_YET,
        environment=_NOT_YET,
    )
    anonymise: bool = _setting(
        False,
        "users, groups, accounts and applications as u1, g1, a1, j1, in the order of their first jobs",
        of_workload=True,
        sweep=_NOT_YET,
        environment=_NOT_YET,
    )
    ignore_gpus: bool = _setting(
        False,
        "run jobs that need GPUs, which only the scheduler slurm gives, as if they needed none, instead of rejecting them",
        of_workload=True,
        sweep=_NOT_YET,
        environment=_NOT_YET,
    )
    scheduler: str = _setting(
        "fcfs",
        "such as fcfs or list:first/high_gflops,blocking=no",
        metavar="S",
        flags=("--scheduler", "-s"),
        recorded="scheduler",
        sweep="specs, list:JOB/NODE with * and ? for any order, or trained",
        environment=_AGENT,
    )
    power_policy: str = _setting(
        "always-on",
        "when nodes sleep",
        metavar="Q",
        recorded="power_policy",
        nothing="none",
        sweep="specs, or trained",
        environment=_AGENT,
    )
    contention_model: str | None = _setting(
        None, "in place of the platform's, such as piecewise:k=1", metavar="SPEC", recorded="contention"
    )
    power_model: str | None = _setting(
        None, "in place of the platform's, such as baseline", metavar="SPEC", recorded="power_model"
    )
    network_model: str = _setting(
        "none",
        "what communication between nodes costs",
        metavar="SPEC",
        parameter="network",
        recorded="network_model",
        environment=NotTaken("not offered yet: what agents see and are rewarded for knows no network"),
    )
    failures: str | None = _setting(
        None,
        "how nodes fail and are repaired, such as exponential:mtbf=86400,repair=3600 or trace:FILE",
        metavar="SPEC",
        parameter="failures",
        recorded="failures",
        nothing="none",
        sweep="specs; none where nodes do not fail",
        environment=NotTaken("not offered yet: what agents see and are rewarded for knows no failures"),
    )
    process: tuple[str, ...] = _setting(
        (),
        "a function in a Python file that is called with the simulation, such as noise.py:backup; a generator runs as a"
        " SimPy process",
        metavar="FILE.py:NAME",
        flags=("--process", "process"),
        parameter="processes",
        recorded="processes",
        sweep="lists of functions in Python files, noise.py:backup, that are called with the simulation",
        environment=_NOT_YET,
    )
    seed: int = _setting(
        0,
        "of everything random",
        metavar="N",
        least=0,
        parameter="seed",
        recorded="seed",
        sweep=NotTaken("each replication has its own, derived from the sweep's"),
        environment=NotTaken("each episode has its own, drawn with the training's"),
    )


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a run, under the names of Simulation's parameters; episodes of environments have them, too."""

    enforce_walltime: bool = _setting(
        False, "kill jobs at their requested time", parameter="enforce_walltime", recorded="enforce_walltime"
    )
    suspended_time_counts: bool = _setting(
        False,
        "a job that is suspended uses up its requested time meanwhile",
        parameter="suspended_time_counts",
        recorded="suspended_time_counts",
        environment=NotTaken("agents suspend no jobs"),
    )
    quirks: tuple[str, ...] = _setting(
        (),
        "imitate a published program in one respect",
        metavar="NAME",
        flags=("--quirk", "quirks"),
        parameter="quirks",
        recorded="quirks",
        sweep="lists of names",
        environment=NotTaken("they are for comparisons with published numbers, not to learn from"),
    )
    until: float | None = _setting(
        None,
        "the run stops there, at the latest (s)",
        metavar="S",
        unit="s",
        command="stop at S seconds on the run's clock",
        parameter="until",
        recorded="until",
    )

    def rules(self) -> dict[str, Any]:
        """Return the rules alone, by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Rules)}


@dataclass(frozen=True, kw_only=True)
class _Outputs:
    """The outputs of a run."""

    explain: bool = _setting(
        False,
        "keep a log of the scheduler's decisions and reasons",
        parameter="explain",
        sweep=_RUN_ONLY,
        environment=_RUN_ONLY,
    )
    report: bool = _setting(False, "leave an interactive report.html, too", sweep=_RUN_ONLY, environment=_RUN_ONLY)
    file_format: Literal["csv", "parquet"] = _setting(
        "csv",
        "of tables",
        flags=("--format", "file_format"),
        key="format",
        sweep=_RUN_ONLY,
        environment=_RUN_ONLY,
    )


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


def _entries() -> dict[str, Setting]:
    hints = get_type_hints(RunSettings)
    found = {}
    for field in dataclasses.fields(RunSettings):
        if "setting" not in field.metadata:
            continue
        setting, hint = field.metadata["setting"], hints[field.name]
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        kind = Union[tuple(kinds)] if NoneType in get_args(hint) else hint  # noqa: UP007 - of a list of types
        allowed = get_args(kind) if get_origin(kind) is Literal else setting.allowed
        key = setting.key or field.name
        found[field.name] = dataclasses.replace(setting, name=field.name, kind=kind, allowed=allowed, key=key)
    return found


SETTINGS: Mapping[str, Setting] = _entries()
"""Every entry by its name."""


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
