"""Settings of a run: each is one entry, which every place that takes settings knows, or says why not."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args

import click
import pytest
from annotated_types import Ge
from typing_extensions import Doc

from analysis.gantt_chart.options import GanttOptions
from analysis.sweep import Grid
from analysis.sweep import cell as sweep_cell
from analysis.sweep.config import FactorKeys, WorkloadKeys
from cluster_sim import Result, Simulation
from cluster_sim.cli.commands.compare import compare
from cluster_sim.cli.commands.gantt import gantt
from cluster_sim.cli.commands.run import run
from cluster_sim.cli.config import settings_of
from cluster_sim.cli.options import setting_option
from cluster_sim.cli.own_config import _Config
from cluster_sim.cli.simulate import build, load
from cluster_sim.formats.native_platform import OwnKeys
from cluster_sim.options import options_of
from cluster_sim.run.settings import (
    SETTINGS,
    NotTaken,
    Place,
    RunSettings,
    Setting,
    as_in_a_run,
    setting_of,
    with_settings,
)

from .conftest import Command

GIVEN: dict[str, Any] = {
    "seed": 3,
    "enforce_walltime": True,
    "quirks": ["textual-node-order"],
    "until": 7.0,
    "network_model": "shared",
    "failures": "exponential:mtbf=1e6",
    "suspended_time_counts": True,
    "contention_model": "none",
    "power_model": "baseline",
    "power_policy": "timeout:300",
    "scheduler": "easy",
}
"""Another value than its default for each setting that a simulation keeps, but for ``process`` (``test_own_files``)."""


def environment_keys() -> Any:
    """The keys of a training's environment."""
    return pytest.importorskip("learning.training.configuration").EnvironmentKeys


SHOWN = ("live", "pace", "port")
"""Options of how ``run`` shows itself, which change nothing of it."""


def known(place: Place) -> set[str]:
    """The names of settings that a place knows, from the place itself."""
    if place == "command line":
        return {str(parameter.name) for parameter in run.params} - {"config", "out", "as_json", *SHOWN}
    if place == "configuration":
        return {"file_format" if key == "format" else key for key in _Config.model_fields}
    if place == "sweep":
        return {*FactorKeys.model_fields, *WorkloadKeys.model_fields} & SETTINGS.keys()
    return set(environment_keys().model_fields) & SETTINGS.keys()


@pytest.mark.parametrize("place", get_args(Place))
@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_place_takes_a_setting_or_says_why(setting: Setting, place: Place) -> None:
    """Each place knows the setting and says what it means, or refuses it and says why."""
    told = setting.told(place)
    assert (setting.name in known(place)) == isinstance(told, str)
    assert told.because if isinstance(told, NotTaken) else told


def test_there_is_nothing_else() -> None:
    """The commands and configurations of runs know settings alone; every field is one, but for the configuration's name."""
    assert known("command line") <= SETTINGS.keys()
    assert known("configuration") <= SETTINGS.keys()
    assert {parameter.name for parameter in compare.params} - {"out", "as_json", "schedulers", "replications"} == (
        known("command line") - {"scheduler"}
    )
    assert set(RunSettings.__dataclass_fields__) == {*SETTINGS, "config", "from_config"}


def test_options_of_charts_are_the_command_s() -> None:
    """The help of ``gantt`` says of each option what its declaration says, and what its values and its default are."""
    context = click.Context(gantt)
    flags = {parameter.name: parameter for parameter in gantt.params}
    for name, option in options_of(GanttOptions).items():
        flag = flags.get(name)
        if not isinstance(flag, click.Option):
            assert name in ("title", "drawing", "labels", "x_range", "height", "reservations")
            continue
        assert flag.help == f"{option.meaning[0].upper()}{option.meaning[1:]}."
        assert flag.type_cast_value(context, flag.get_default(context)) == option.default
        if option.choices and not option.is_list:
            assert isinstance(flag.type, click.Choice)
            assert flag.type.choices == option.choices


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("train training.yaml --seed 9223372036854775808", "is not in the range 0<=x<=9223372036854775807"),
        ("train training.yaml --workers 0", "is not in the range x>=1"),
        ("evaluate agent --workload log.swf --runs -1", "is not in the range x>=0"),
        ("evaluate agent --workload log.swf --trajectories 0", "is not in the range x>=1"),
        ("sweep grid.yaml --workers 0", "is not in the range x>=1"),
        ("lesson grade class --limit 0", "expected a number above 0"),
        ("lesson grade class --limit inf", "expected a finite number above 0, found inf"),
        ("reproduce pcbe --seeds 0", "is not in the range x>=1"),
    ],
)
def test_options_have_the_bounds_of_their_declarations(refused: Callable[..., str], line: str, found: str) -> None:
    """A value outside is refused before anything is read: none of these files is there."""
    assert found in refused(*line.split(), *["--out", "out"] * ("grade" not in line))


def test_defaults_are_those_of_a_simulation() -> None:
    """Who leaves a setting out on the command line gets what a caller of Simulation gets."""
    parameters = inspect.signature(Simulation).parameters
    for setting in SETTINGS.values():
        if setting.parameter and setting.name != "reservations":
            assert parameters[setting.parameter].default == setting.default, setting.name


def kept(simulation: Simulation) -> dict[str, Any]:
    """What a result says of the settings, by their names."""
    meta = simulation.result().meta
    return {
        name: meta[f"{name}_{s.option.unit}" if s.option.unit else name]
        for name, s in SETTINGS.items()
        if s.recorded and name != "process"
    }


def test_configurations_reach_the_simulation(here: Path) -> None:
    """What a file gives is what the result says was run."""
    assert {name for name, setting in SETTINGS.items() if setting.recorded} == {*GIVEN, "process"}
    Path("run.json").write_text(json.dumps(GIVEN | {"workload": "log.swf", "platform": "lab.json"}))
    settings = settings_of("run.json", {})
    assert kept(build(settings, settings.scheduler, *load(settings))) == GIVEN


@pytest.mark.parametrize(
    ("words", "jobs"),
    [
        (("--slice", "5", "20"), ["2"]),
        (("--slice", "0", "1h"), ["1", "2", "3"]),
        (("--slice", "10", "1d", "--first", "1"), ["2"]),
        ((), ["3"]),
    ],
)
def test_a_slice_of_a_log_is_run(here: Path, done: Command, words: tuple[str, ...], jobs: list[str]) -> None:
    """By the command line, else by the file: jobs from the first time up to the second, of them the first ones."""
    Path("run.json").write_text(json.dumps({"workload": "log.swf", "slice": [20, 30]}))
    done("run", "run.json", *words, "--out", "one")
    assert Result.load("one").jobs["job_id"].astype(str).tolist() == jobs
    if words:
        done("compare", "--workload", "log.swf", *words, "--scheduler", "fcfs", "--scheduler", "easy", "--out", "two")
        assert Result.load("two/easy").jobs["job_id"].astype(str).tolist() == jobs


def test_a_slice_without_jobs_is_refused(here: Path, refused: Callable[..., str]) -> None:
    """The line says between which times there are some."""
    told = refused("run", "--workload", "log.swf", "--slice", "30", "40", "--out", "one")
    assert told == "slice: expected times between which jobs are submitted: 0 to 20 s, found 30 to 40"
    told = refused("run", "--workload", "log.swf", "--slice", "11", "19", "--out", "one")
    assert (
        told == "slice: expected times between which jobs are submitted: 0 to 20 s, but for 10 to 20 s, found 11 to 19"
    )
    told = refused("run", "--workload", "log.swf", "--slice", "30", "4", "--out", "one")
    assert told == "slice: expected two times in s, a begin not after its end, found 30.0 and 4.0"


def test_sweeps_reach_the_simulation(here: Path) -> None:
    """What a grid gives is what the result says was run."""
    factors = {name: value for name, value in GIVEN.items() if isinstance(SETTINGS[name].told("sweep"), str)}
    cell = Grid.of({"factors": factors | {"workload": "log.swf", "platform": "lab.json"}})[0]
    assert kept(sweep_cell.simulation_of(cell)) == GIVEN | {"seed": cell["seed"]}


def test_trainings_reach_the_simulation(here: Path) -> None:
    """What the keys of an environment give is what the result of its episodes says was run."""
    keys, inputs = environment_keys(), pytest.importorskip("learning.training.inputs")
    given = {name: value for name, value in GIVEN.items() if isinstance(SETTINGS[name].told("environment"), str)}
    environment = inputs.MakeEnvironment.of(keys(workload="log.swf", platform="lab.json", **given))()
    environment.reset(seed=0)
    found = kept(environment.simulation)
    assert {name: found[name] for name in given} == given


def test_a_new_setting_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options and keys are made of the entry, with its bound, its default and its meaning."""
    entry = setting_of("patience", Annotated[int, Ge(1), Doc("wait so long"), Setting()], 2)
    monkeypatch.setitem(SETTINGS, "patience", entry)  # type: ignore[arg-type]
    command = setting_option("patience")(click.Command("one"))
    (option,) = command.params
    assert option.opts == ["--patience"]
    assert option.help == "Wait so long. [default: 2]"
    assert option.type.min == 1
    for place in get_args(Place):
        keys = with_settings(place, as_in_a_run)(type("Keys", (OwnKeys,), {}))
        assert keys(workload="log.swf").patience == 2  # type: ignore[attr-defined]
        assert keys.model_fields["patience"].description == "wait so long"
        with pytest.raises(ValueError, match="greater than or equal to 1"):
            keys(workload="log.swf", patience=0)
