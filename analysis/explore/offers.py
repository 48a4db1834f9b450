"""What can be chosen in the page.

A page that takes specs from anyone who can reach its port must not let them read files of the machine. So an input of the
page is the *name* of an offer, and options for it. The offers are what is built in and reads no file, and what was named
when the app was started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar

from cluster_sim.cli.commands.demo import PLATFORM, PROFILES, REFERENCE_GFLOPS, WORKLOAD
from cluster_sim.errors import InputError, SpecError
from cluster_sim.files.source import files_of
from cluster_sim.packages import is_ours, sibling
from cluster_sim.platform.library import machines
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.specs import platforms
from cluster_sim.registry import Registry, Spec
from cluster_sim.run.hosts import platform_of_log
from cluster_sim.run.policies import PowerPolicy, Scheduler
from cluster_sim.workload.workload import WORKLOAD_GENERATORS, Workload

T = TypeVar("T")

READ_FILES = frozenset({"learned", "replay", "simgrid", "slurm"})
"""Registered names whose spec names a file or a folder. They are offered only if the start names the whole spec."""
MOST_GENERATED = 100_000
"""Jobs that a generator may be asked for in the page."""
_READING = Lock()  # readers of files silence warnings of the whole process for a moment
GAIA = "gaia-week"
OF_THE_LOG = "as the log says"


@dataclass(frozen=True, slots=True)
class OfferedItem(Generic[T]):
    """One thing that can be chosen: ``make(options)`` makes it. Only some take ``options``, a text."""

    meaning: str
    make: Callable[..., T]
    takes_options: bool = False
    example: str = ""  # options to begin with
    named: bool = False  # at the start


@dataclass(frozen=True, slots=True)
class Offers:
    """All that can be chosen, each kind by name. Making a platform also takes the workload."""

    workloads: Mapping[str, OfferedItem[Workload]]
    platforms: Mapping[str, OfferedItem[Platform]]
    schedulers: Mapping[str, OfferedItem[Scheduler]]
    power_policies: Mapping[str, OfferedItem[PowerPolicy]]

    def by_kind(self) -> dict[str, tuple[Mapping[str, OfferedItem[Any]], str]]:
        """Return the offers of each kind by its name in a run's choices, with the name that its options have there."""
        return {
            "workload": (self.workloads, "workload_options"),
            "platform": (self.platforms, "platform_options"),
            "scheduler": (self.schedulers, "scheduler_options"),
            "power_policy": (self.power_policies, "power_options"),
        }

    @classmethod
    def of(
        cls,
        workloads: Iterable[str] = (),
        platforms: Iterable[str] = (),
        schedulers: Iterable[str] = (),
        power_policies: Iterable[str] = (),
    ) -> Offers:
        """Return what was named at the start (files and specs, which may name files), then what is built in.

        Each thing that was named is made once here, so that a wrong one ends the start. Raises InputError.
        """
        makers = sibling("schedulers")
        logs, hosts = {}, {}
        for source in workloads:
            workload = Workload.read(source)
            logs[source] = OfferedItem(f"{len(workload):,} jobs", lambda _, workload=workload: workload, named=True)
        for source in platforms:
            platform = Platform.read(source)
            size = f"{platform.node_count:,} nodes"
            hosts[source] = OfferedItem(size, lambda _, __, platform=platform: platform, named=True)
        return cls(
            _first(logs, _built_in_workloads()),
            _first(hosts, _built_in_platforms()),
            _first(_named(schedulers, makers.make_scheduler), _registered(makers.schedulers, makers.make_scheduler)),
            _first(
                _named(power_policies, makers.make_power_policy),
                _registered(makers.power_policies, makers.make_power_policy),
            ),
        )


def chosen(offers: Mapping[str, OfferedItem[T]], what: str, name: str, options: str, *inputs: Any) -> T:
    """Make the thing of that name. Raises SpecError for a name that is not offered, InputError as its maker does."""
    offer = offers.get(name)
    if offer is None:
        raise SpecError(what, f"one of {', '.join(offers)}", name)
    options = options.strip()
    if options and not offer.takes_options:
        raise SpecError(f"{what} '{name}'", "no options", options)
    if not offer.named and files_of(f"{name}:{options}"):
        raise SpecError(
            f"{what} '{name}'", "options that name no file: those are chosen when the app is started", options
        )
    return offer.make(options, *inputs)


def _first(named: dict[str, OfferedItem[T]], built_in: dict[str, OfferedItem[T]]) -> dict[str, OfferedItem[T]]:
    return named | {name: offer for name, offer in built_in.items() if name not in named}


def _named(specs: Iterable[str], make: Callable[[str], T]) -> dict[str, OfferedItem[T]]:
    """Return what was named at the start, whole specs.

    It is made anew for every run, since a scheduler remembers things.
    """
    found = {}
    for spec in specs:
        make(spec)
        found[spec] = OfferedItem("named at the start", lambda _, spec=spec: _read(make, spec), named=True)
    return found


def _read(make: Callable[[str], T], spec: str) -> T:
    with _READING:
        return make(spec)


def _built_in_workloads() -> dict[str, OfferedItem[Workload]]:
    found = {GAIA: OfferedItem("a week of May 2014 of the Gaia cluster, 1,692 jobs", lambda _: demo_workload())}
    examples = {
        "lublin": "jobs=200,nodes=32,seed=4",
        "npb": "jobs=60,seed=4",
        "lopez-mixed": "jobs=200,seed=4",
        "cruz": "jobs=60,seed=4",
    }
    for name in _own(WORKLOAD_GENERATORS):
        meaning = WORKLOAD_GENERATORS.help(name)
        found[name] = OfferedItem(meaning, lambda o, name=name: _generated(f"{name}:{o}"), True, examples.get(name, ""))
    return found


def demo_workload() -> Workload:
    """Return the log that comes with the package, with the memory traffic that the demo assumes."""
    with _READING:
        return _demo_workload()


@cache
def _demo_workload() -> Workload:
    return Workload.read(WORKLOAD, reference_gflops=REFERENCE_GFLOPS).with_profiles(PROFILES, seed=0)


def _generated(spec: str) -> Workload:
    given = Spec.parse(spec)
    for jobs in (*given.positional, given.options.get("jobs", "0")):
        try:
            count = int(jobs)
        except ValueError:
            continue  # the generator says what is wrong
        if count > MOST_GENERATED:
            raise SpecError(f"workload '{spec}'", f"at most {MOST_GENERATED:,} jobs in this page", jobs)
    return Workload.read(spec)


def _built_in_platforms() -> dict[str, OfferedItem[Platform]]:
    examples = {"homogeneous": "nodes=4,cores=8", "mixed": "3x64@3.0,9x8@4.2"}
    found = {
        OF_THE_LOG: OfferedItem("as many one-core nodes as the log's machine had", _platform_of_log),
        "gaia": OfferedItem("the machine of that log: 149 nodes, 1,808 cores", lambda _, __: Platform.read(PLATFORM)),
    }
    # The spec 'machine' means nothing without the name of one.
    for name in _own(platforms, without=frozenset({"machine"})):
        meaning = platforms.help(name)
        found[name] = OfferedItem(
            meaning, lambda o, _, name=name: Platform.read(_spec(name, o)), True, examples.get(name, "")
        )
    for name in _own(machines):
        found[f"machine:{name}"] = OfferedItem(
            machines.help(name), lambda o, _, name=name: Platform.read(f"machine:{name}" + (f",{o}" if o else "")), True
        )
    return found


def _platform_of_log(_: str, workload: Workload) -> Platform:
    if not workload.header:
        raise InputError("platform", "a platform to be chosen: this workload does not say how large its machine was")
    return platform_of_log(workload, workload.name)


def _registered(registry: Registry[Any], make: Callable[[str], T]) -> dict[str, OfferedItem[T]]:
    return {
        name: OfferedItem(registry.help(name), lambda options, name=name: make(_spec(name, options)), True)
        for name in _own(registry)
    }


def _own(registry: Registry[Any], without: frozenset[str] = frozenset()) -> list[str]:
    """Return the registered names of this project that read no file. What others' plug-ins read is not known."""
    names = [name for name in registry if name not in READ_FILES | without]
    return [name for name in names if is_ours(registry.factory(name).__module__)]


def _spec(name: str, options: str) -> str:
    return f"{name}:{options}" if options else name
