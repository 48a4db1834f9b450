"""Configurations of trainings: what is read, what is refused in one line, and that the manual tells every key."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.source import files_of, policy_with_place
from cluster_sim.formats.native_platform import validated
from cluster_sim.workload.workload import Workload
from learning.training.configuration import SECTIONS, Config, EnvironmentKeys, check_same, read_config, write_config
from learning.training.inputs import MakeEnvironment
from learning.training.training import check

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "training.md"
A_LIMIT = "a number above 0, or a share of what a baseline reaches: 0.5 of timeout:0"


def written(folder: Path, text: str) -> Path:
    """A configuration file."""
    path = folder / "training.yaml"
    path.write_text(text)
    return path


def test_an_empty_configuration_is_the_built_in_case(tmp_path: Path) -> None:
    """All keys have defaults."""
    assert read_config(written(tmp_path, "{}")) == Config()


def test_files_are_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    """Relative names start in its folder, specs stay as they are."""
    config = read_config(
        written(tmp_path, "environment: {platform: 'homogeneous:nodes=2,cores=4', workload: ../jobs.json}")
    )
    assert config.environment.platform == "homogeneous:nodes=2,cores=4"
    assert config.environment.workload == str(tmp_path.parent / "jobs.json")


def test_what_is_written_is_read_as_the_same(tmp_path: Path) -> None:
    """Every kind of value."""
    text = """
    environment:
      platform: homogeneous:nodes=2,cores=4
      workload: jobs.swf
      days: true
      fold: [1, 5]
      slice: [0, 1e5]
      until: 86400
      options: {wait: event, num_jobs: 5}
    algorithm: {name: ppo, options: {actor_lr: 1e-3}}
    validation: {workload: others.swf, trajectories: {length: 30, origin: 7}}
    warm_start: {teacher: "contention-aware:metric=energy,placements=one"}
    baselines: ["list:first/first"]
    """
    config = read_config(written(tmp_path, text))
    assert config.environment.fold == (1, 5)
    write_config(config, tmp_path / "again.yaml")
    assert read_config(tmp_path / "again.yaml") == config


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('episodes: "2"', 'episodes: expected a valid integer, found "2"'),
        ("iteration: 5", "expected iterations"),
        ("environment: {plattform: x}", "environment: expected platform"),
        ("iterations: many", "iterations: expected"),
        ("iterations: -1", "iterations: expected"),
        ("iterations: 2.5", "iterations: expected"),
        ("seeds: 0", "seeds: expected"),
        ("environment: {kind: maze}", r"environment\.kind: expected"),
        (
            "environment: {workload: a.swf, days: true, trajectories: {length: 5}}",
            "environment: expected either days or trajectories",
        ),
        ("environment: {workload: a.swf, fold: [0, 5]}", "environment: expected fold"),
        ("environment: {workload: a.swf, days: true, fold: [5, 5]}", "environment: expected fold"),
        ("environment: {workload: a.swf, days: true, fold: [0, 1]}", "environment: expected fold.*, n at least 2"),
        ("environment: {trajectories: {origin: 0}}", r"environment\.trajectories: expected key 'length'"),
        ("environment: {trajectories: {length: 5, origin: middle}}", r"environment\.trajectories\.origin"),
        ("environment: {trajectories: {length: 5}}", "environment: expected a workload, which trajectories needs"),
        ("environment: {until: 60}", "environment: expected a workload, which until needs"),
        ("environment: {power_model: linear}", "environment: expected a workload, which power_model needs"),
        ("validation: {first: 5}", "validation: expected a workload, which first needs"),
        ("validation: {remainder: true}", "expected trajectories, which remainder of validation needs"),
        ("warm_start: {episodes: 3}", "warm_start: expected key 'teacher'"),
        ("environment: {workload: a.swf, slice: [0, .nan]}", r"environment\.slice.1.: expected a time in s, found nan"),
        ("seed: 18446744073709551616", "seed: expected"),
        ("- 1", "expected a training"),
        ("a: b: c", "expected YAML"),
    ],
)
def test_what_is_wrong_ends_in_a_line(tmp_path: Path, text: str, told: str) -> None:
    """Misspelt keys, wrong types and impossible values name file and key."""
    path = written(tmp_path, text)
    with pytest.raises(FormatError, match=told) as error:
        read_config(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_a_slice_may_have_no_end(tmp_path: Path) -> None:
    """``.inf`` and ``inf`` are read, written, and travel to the processes that make environments."""
    for word in (".inf", "inf"):
        workload = "lublin:jobs=12,nodes=8,seed=1,estimates=tsafrir"
        machine = "platform: 'homogeneous:nodes=2,cores=4'"
        config = read_config(
            written(tmp_path, f"environment: {{{machine}, workload: '{workload}', slice: [0, {word}]}}")
        )
        assert config.environment.slice == (0.0, math.inf)
        write_config(config, tmp_path / "again.yaml")
        assert read_config(tmp_path / "again.yaml") == config
        [episode] = MakeEnvironment.of(config.environment)().episodes.all()
        assert len(episode.workload) == 12


def test_a_slice_without_jobs_says_between_which_times_there_are_some(tmp_path: Path) -> None:
    """As on the command line, with the name of the workload."""
    workload = "lublin:jobs=12,nodes=8,seed=1"
    machine = "platform: 'homogeneous:nodes=2,cores=4'"
    config = read_config(written(tmp_path, f"environment: {{{machine}, workload: '{workload}', slice: [1e9, 2e9]}}"))
    told = f"^{workload}: slice: expected times between which jobs are submitted: 0 to .* s, found 1000000000 to 2000000000$"
    with pytest.raises(InputError, match=told):
        MakeEnvironment.of(config.environment)().episodes.all()


@pytest.mark.parametrize("part", ["first: 2", "slice: [0, 60]"])
def test_of_a_folder_of_days_no_part_can_be_asked_for(tmp_path: Path, part: str) -> None:
    """It could mean a part of each day, or some of the days; it was passed over."""
    (tmp_path / "days").mkdir()
    jobs = "lublin:jobs=5,nodes=8,seed=1"
    Workload.read(jobs).write(tmp_path / "days" / "monday.csv")
    machine, days = "platform: 'homogeneous:nodes=2,cores=4'", f"workload: days, days: true, {part}"
    told = "days: expected a file, to take a part of; of a folder of days, every day is a case, found a folder"
    for text in (
        f"environment: {{{machine}, {days}}}",
        f"environment: {{{machine}, workload: '{jobs}'}}\nvalidation: {{{days}}}",
    ):
        with pytest.raises(InputError, match=told):
            check(read_config(written(tmp_path, text)))


def test_another_configuration_is_no_continuation() -> None:
    """The first key that differs is named; how the work is divided does not matter."""
    begun = Config(seed=1, workers=1)
    check_same(Config(seed=1, workers=2, checkpoint_every=3), begun, "config.yaml")
    for other in (Config(seed=2), Config(seed=1, iterations=7), Config(seed=1, algorithm={"options": {"clip": 0.3}})):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="with which the training there began"):
            check_same(other, begun, "config.yaml")
    kept = Config.model_validate({"algorithm": {"options": {"entropy_end": None}}})
    check_same(kept, kept, "config.yaml")
    for one, other in (
        (kept, Config()),
        (Config(), kept),
    ):  # null says that the entropy stays, nothing that it falls to 0
        with pytest.raises(
            InputError, match=r"config.yaml, algorithm.options.entropy_end: expected (None|nothing), with"
        ):
            check_same(other, one, "config.yaml")


def test_what_is_wrong_with_validation_says_so(tmp_path: Path) -> None:
    """The episodes to learn from may be cut by the same keys."""
    pieces = "trajectories: {length: 9}"
    config = read_config(
        written(
            tmp_path,
            f"environment: {{platform: 'homogeneous:nodes=2,cores=4', workload: 'lublin:jobs=20,nodes=8,seed=1', {pieces}}}\n"
            f"validation: {{workload: 'lublin:jobs=5,nodes=8,seed=2', {pieces}}}\n",
        )
    )
    with pytest.raises(
        InputError, match=r"^validation: trajectories, length: expected a number of jobs from 1 to 5, found 9$"
    ):
        check(config)
    built_in = read_config(written(tmp_path, "validation: {workload: 'lublin:jobs=5,nodes=8,seed=2'}\n"))
    with pytest.raises(InputError, match=r"^validation: environment: expected a platform, for a workload to run on$"):
        check(built_in)


def test_every_key_has_a_meaning() -> None:
    """The manual's table is made of them."""
    assert "```{keys} learning.training.configuration\n" in PAGE.read_text(encoding="utf-8")
    assert [
        name for _, section in SECTIONS for name, field in section.model_fields.items() if not field.description
    ] == []


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (
            {"environment": {"trajectories": {"length": 3, "origin": -1}}},
            "environment.trajectories.origin: expected 'random' or 'fixed' or greater than or equal to 0, found -1",
        ),
        ({"limits": {"mean_wait_s": -5}}, f"limits.mean_wait_s: expected {A_LIMIT}, found -5"),
        ({"limits": {"mean_wait_s": "half of easy"}}, f"limits.mean_wait_s: expected {A_LIMIT}, found half of easy"),
        ({"limits": {"mean_wait_s": "0 of easy"}}, f"limits.mean_wait_s: expected {A_LIMIT}, found 0 of easy"),
        ({"limits": {"mean_wait_s": None}}, f"limits.mean_wait_s: expected {A_LIMIT}"),
        ({"environment": {"slice": [5]}}, "environment.slice: expected at least 2 values"),
        ({"environment": {"slice": 5}}, "environment.slice: expected a list, found 5"),
        ({"environment": {"slice": [5, 6, 7]}}, "environment.slice: expected at most 2 values, found a list"),
        ({"environment": {"days": True, "trajectories": {"length": 3}}}, "environment: expected either days or trajectories"),
    ],
)  # fmt: skip
def test_messages_name_what_stands_in_the_file(keys: dict[str, Any], told: str) -> None:
    """Of values that may be of several kinds all are told, at the place that the file has, in words that it knows."""
    document = keys | {"environment": {"kind": "job-choice", "workload": "log.swf"} | keys.get("environment", {})}
    with pytest.raises(FormatError) as error:
        validated(Config, document, "c.yaml")
    assert str(error.value).startswith(f"c.yaml: {told}")
    assert "mapping" not in str(error.value)


def test_policies_named_by_files_are_looked_for_beside_the_configuration(tmp_path: Path) -> None:
    """Baselines, shares of limits and the scheduler of the environment; a ready agent is that one wherever it is read."""
    (tmp_path / "agent").mkdir()
    config = read_config(
        written(
            tmp_path,
            "environment: {kind: node-shutdown, options: {scheduler: 'own.py:Own,depth=2'}}\n"
            "baselines: [easy, 'learned:agent', 'learned:taurus-sleep', 'trace:starts.csv']\n"
            "limits: {mean_stretch: 0.5 of own.py:Own, energy_waste_j: 5}\n",
        )
    )
    at = tmp_path.resolve()
    assert config.environment.options == {"scheduler": f"{at}/own.py:Own,depth=2"}
    assert config.baselines == ["easy", f"learned:{at}/agent", "learned:ready:taurus-sleep", f"trace:{at}/starts.csv"]
    assert config.limits == {"mean_stretch": f"0.5 of {at}/own.py:Own", "energy_waste_j": 5.0}
    (tmp_path / "elsewhere" / "taurus-sleep").mkdir(parents=True)
    write_config(config, tmp_path / "elsewhere" / "again.yaml")
    assert read_config(tmp_path / "elsewhere" / "again.yaml") == config


def test_files_of_jobs_and_nodes_are_found_from_any_folder(tmp_path: Path) -> None:
    """The order of nodes may be in a Python file, and so may either of a scheduler and a power policy."""
    both = "easy:nodes=own.py:order + own.py:Power,depth=2"
    config = read_config(
        written(
            tmp_path,
            "environment: {kind: jobs-and-nodes, options: {nodes: 'own.py:order'}}\n"
            f"baselines: ['{both}', 'easy + timeout:300']\n"
            f"limits: {{mean_stretch: '0.5 of {both}'}}\n"
            f"warm_start: {{teacher: '{both}'}}\n",
        )
    )
    at = tmp_path.resolve()
    found = f"easy:nodes={at}/own.py:order + {at}/own.py:Power,depth=2"
    assert config.environment.options == {"nodes": f"{at}/own.py:order"}
    assert config.baselines == [found, "easy + timeout:300"]
    assert config.limits == {"mean_stretch": f"0.5 of {found}"}
    assert config.warm_start is not None
    assert config.warm_start.teacher == found


def test_files_within_a_spec_are_found_from_any_folder(tmp_path: Path) -> None:
    """A reward may name a scheduler and a power policy as a rule, each with its files."""
    rule = "easy:order=own.py:order + own.py:Power,price=3"
    config = read_config(
        written(
            tmp_path,
            f"environment: {{kind: jobs-and-nodes, reward: 'energy-and-wait:against={rule}'}}\n"
            "baselines: ['learned:agent + replay:starts.csv', 'learned:taurus-sleep']\n",
        )
    )
    at = tmp_path.resolve()
    assert config.environment.reward == (
        f"energy-and-wait:against=easy:order={at}/own.py:order + {at}/own.py:Power,price=3"
    )
    assert config.baselines == [f"learned:{at}/agent + replay:{at}/starts.csv", "learned:ready:taurus-sleep"]
    against = policy_with_place("energy:against=learned:agent,scaled=yes", lambda name: f"/{name}")
    assert against == "energy:against=learned:/agent,scaled=yes"
    assert files_of("easy:order=a.py:order + b.py:Power") == ["a.py", "b.py"]


def test_relative_names_of_a_configuration_made_in_python_are_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written names them there, and the same training goes on with it."""
    monkeypatch.chdir(tmp_path)
    environment = EnvironmentKeys(kind="node-shutdown", workload="jobs.swf", options={"scheduler": "own.py:Own"})
    config = Config(environment=environment, baselines=["trace:starts.csv"])
    (tmp_path / "out").mkdir()
    write_config(config, "out/config.yaml")
    begun = read_config("out/config.yaml")
    assert begun.environment.workload == str(tmp_path.resolve() / "jobs.swf")
    assert begun.baselines == [f"trace:{tmp_path.resolve()}/starts.csv"]
    check_same(config, begun, "out/config.yaml")


@pytest.mark.parametrize("key", ["contention_model", "power_model"])
def test_a_wrong_model_names_its_key(tmp_path: Path, key: str) -> None:
    """Not only the kind of model, of which a platform has one, too."""
    machine, jobs = "platform: 'homogeneous:nodes=2,cores=4'", "workload: 'lublin:jobs=5,nodes=8,seed=1'"
    config = read_config(written(tmp_path, f"environment: {{{machine}, {jobs}, {key}: foo}}"))
    with pytest.raises(InputError, match=f"^environment, {key}: .*found foo$"):
        MakeEnvironment.of(config.environment)()


def test_corrections_of_a_network_that_remembers_are_refused_at_once(tmp_path: Path) -> None:
    """Before the teacher is played: checking is enough."""
    text = "network: lstm\nwarm_start: {teacher: easy, episodes: 2, rounds: 1}\n"
    with pytest.raises(
        InputError, match=r"warm_start, rounds: expected 0, or a network that remembers nothing, found lstm"
    ):
        check(read_config(written(tmp_path, text)))
