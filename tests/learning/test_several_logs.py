"""Learning from several logs, each on a machine of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import FormatError, InputError
from learning.algorithms.rollouts import Trajectory
from learning.tasks.episodes import Several, Trajectories, Whole, inputs_of
from learning.tasks.job_choice.environment import JobChoice
from learning.tasks.job_node.environment import JobNode
from learning.training.configuration import Config, EnvironmentKeys, placed, read_config, write_config
from learning.training.evaluation import cases_of
from learning.training.inputs import MakeEnvironment
from learning.training.training import Training, check
from learning.training.training_seeds import train
from learning.training.validation import as_many

SMALL, LARGE = Platform.homogeneous(nodes=1, cores=8), Platform.homogeneous(nodes=1, cores=32)
LOGS = {8: "lublin:jobs=64,nodes=8,seed=1", 32: "lublin:jobs=96,nodes=32,seed=2"}
FRESH = {"fresh": True, "workload": "lublin:jobs=16,nodes=8", "trajectories": None}
SAF = "easy:order=saf,backfill=fcfs,commit=yes,extra=no"


def source() -> Several:
    """Pieces of sixteen jobs: four of a small machine, six of a large one."""
    return Several(
        [Trajectories(Platform.homogeneous(1, cores), Workload.read(log), 16) for cores, log in LOGS.items()]
    )


def keys(**environment: Any) -> dict[str, Any]:
    """A training on both logs."""
    first, other = ({"platform": f"homogeneous:nodes=1,cores={cores}", "workload": log} for cores, log in LOGS.items())
    return {
        "environment": {"kind": "job-choice", **first, "trajectories": {"length": 16}, "also": [other]} | environment,
        "iterations": 1,
        "episodes": 8,
        "workers": 1,
        "validation": {"every": 1, "episodes": 5},
        "baselines": [SAF],
    }


def test_each_source_is_as_likely() -> None:
    """However many episodes it has."""
    several, rng = source(), np.random.default_rng(0)
    drawn = Counter(several.draw(rng).platform.core_count for _ in range(400))
    assert set(drawn) == {8, 32}
    assert 160 < drawn[8] < 240
    assert [episode.platform.core_count for episode in several.all()] == [8] * 4 + [32] * 6
    assert [(platform.core_count, len(jobs)) for platform, jobs in inputs_of(several)] == [(8, 64), (32, 96)]
    with pytest.raises(InputError, match="several sources: expected at least one, found none"):
        Several([])


def test_an_episode_is_the_run_of_its_own_machine() -> None:
    """Always the first of those that wait: what the scheduler makes of it that does so, on either machine."""
    several = source()
    env = JobChoice(several, reward="wait")
    first_come = make_scheduler("easy:order=fcfs,backfill=fcfs,commit=yes,extra=no")
    for episode in several.all():
        env.reset(options={"episode": episode})
        over = False
        while not over:
            _, _, over, _, info = env.step(0)
        run = Simulation(episode.platform, episode.workload, first_come)
        assert info["metrics"]["mean_wait_s"] == run.run().summary()["mean_wait_s"]


def test_who_knows_the_machine_stays_on_it() -> None:
    """The nodes are among the actions of JobNode: other machines are refused before anything is played, other jobs are not."""
    jobs = Workload.read(LOGS[8])
    small = r"expected the machine that JobNode was made for, platform '\S+' of 1 node and 8 cores"
    with pytest.raises(
        InputError, match=rf"^episodes, source 1: {small}, found platform '\S+' of 1 node and 32 cores$"
    ):
        JobNode(episodes=Several([Whole(machine, jobs) for machine in (SMALL, LARGE)]))
    with pytest.raises(InputError, match=rf"^large: {small}"):
        JobNode(episodes=Several([Whole(machine, jobs) for machine in (SMALL, LARGE)], ("small", "large")))
    with pytest.raises(InputError, match=r"several sources, names: expected one for each of 1, found 2"):
        Several([Whole(SMALL, jobs)], ("small", "large"))
    other = replace(SMALL, power_model="baseline")
    with pytest.raises(
        InputError, match=rf"{small}, found platform '\S+' of 1 node and 8 cores that differs otherwise"
    ):
        JobNode(episodes=Several([Whole(SMALL, jobs), Whole(other, jobs)]))
    env = JobNode(episodes=Several([Whole(SMALL, jobs), Whole(Platform.homogeneous(nodes=1, cores=8), jobs.first(8))]))
    for seed in range(8):
        env.reset(seed=seed)
    assert {len(episode.workload) for episode in env.episodes.all()} == {64, 8}
    with pytest.raises(InputError, match=rf"^episode: {small}"):
        env.reset(options={"episode": Whole(LARGE, jobs).all()[0]})


@pytest.mark.parametrize("kind", ["job-node", "policy-selection", "node-shutdown"])
def test_several_logs_of_one_machine(kind: str) -> None:
    """Every kind of agent may learn from them; where the machines differ, the line names the log."""
    document = keys(kind=kind, also=[{"workload": LOGS[8], "first": 32}]) | {"baselines": []}
    check(Config.model_validate(document))
    made = "expected the machine that .* was made for, .* 8 cores, found .* 32 cores"
    with pytest.raises(InputError, match=rf"^environment\.also\[0\]: {made}"):
        check(Config.model_validate(keys(kind=kind) | {"baselines": []}))
    own = {"workload": LOGS[8], "trajectories": {"length": 16}}
    others = {"also": [{"workload": LOGS[8]}, keys()["environment"]["also"][0]]}
    with pytest.raises(InputError, match=rf"^validation\.also\[1\]: {made}"):
        check(Config.model_validate(document | {"validation": own | others}))
    check(Config.model_validate(keys() | {"validation": own | others}))  # job-choice


def test_validation_has_as_many_of_each() -> None:
    """The first logs one more where that does not divide; whole pieces only."""
    assert [episode.platform.core_count for episode in as_many(source(), 5)] == [8] * 3 + [32] * 2
    assert [episode.platform.core_count for episode in as_many(source(), 1)] == [8]


def test_a_configuration_names_further_logs(tmp_path: Path) -> None:
    """Beside it, cut as the first, on its machine unless another is named; written, it is the same."""
    Workload.read(LOGS[32]).write(tmp_path / "other.swf")
    more = [
        {"workload": "other.swf", "first": 48},
        {"workload": "other.swf", "platform": "homogeneous:nodes=1,cores=32"},
    ]
    document = keys(also=more)
    document["validation"]["workload"] = LOGS[8]
    document["validation"] |= {"trajectories": {"length": 16}, "also": more[:1]}
    config = placed(Config.model_validate(document), tmp_path)
    write_config(config, tmp_path / "config.yaml")
    assert read_config(tmp_path / "config.yaml") == config
    inputs = inputs_of(MakeEnvironment.of(config.environment)().episodes)
    assert [(platform.core_count, len(jobs)) for platform, jobs in inputs] == [(8, 64), (8, 48), (32, 96)]
    check(config)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (keys(also=[{"platform": "homogeneous:nodes=1,cores=8"}]), r"environment\.also\[0\]: expected key 'workload'"),
        (keys(also=[{"workload": "a.swf", "frist": 3}]), r"environment\.also\[0\]: expected first .*, found frist"),
        (keys(also=[]), r"environment\.also: expected at least one entry, found an empty list"),
        (keys(workload=None, platform=None), "environment: expected a workload, which trajectories needs"),
        *(
            (keys(**FRESH, also=[{"workload": "lublin:jobs=9,nodes=8", **cut}]), "environment: expected fresh workloads whole")
            for cut in ({"first": 3}, {"slice": [0, 60]})
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_them_is_told(tmp_path: Path, document: dict[str, Any], told: str) -> None:
    """In a line."""
    import yaml

    (tmp_path / "config.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(FormatError, match=told):
        read_config(tmp_path / "config.yaml")


def test_a_further_log_that_is_not_there_is_named() -> None:
    """With its place in the list."""
    config = Config.model_validate(keys(also=[{"workload": LOGS[8]}, {"workload": "none.swf"}]))
    with pytest.raises(InputError, match=r"^environment\.also\[1\]: none\.swf"):
        check(config)
    config = Config.model_validate(keys(also=[{"workload": LOGS[8], "first": 8}]))
    with pytest.raises(
        InputError,
        match=r"^environment\.also\[0\]: trajectories, length: expected a number of jobs from 1 to 8, found 16",
    ):
        check(config)


def test_the_log_in_which_something_is_wrong_is_named(tmp_path: Path) -> None:
    """The second of three, in which no job runs, in runs of baselines and of the agent; of a limit, which is of all, each log."""
    wide = Workload({"submit_time": [0.0] * 16, "requested_cores": [9] * 16, "recorded_run_time": [60.0] * 16})
    wide.write(tmp_path / "wide.swf")
    others = [{"workload": str(tmp_path / "wide.swf")}, {"workload": LOGS[8]}]
    document = keys(also=others) | {"objective": "mean_wait_s"}
    told = r"^\S+wide\.swf: metric mean_wait_s: expected a job that ran, found .*16 rejected$"
    for changes in (
        {},
        {"baselines": [], "limits": {"mean_wait_s": "0.5 of fcfs"}},
        {"baselines": []},  # the agent
    ):
        with pytest.raises(InputError, match=told):
            train(Config.model_validate(document | changes), tmp_path / "out")
    limits = {"jobs_rejected": "0.5 of fcfs"}
    told = rf"^{LOGS[8]}, {LOGS[32]}: limits, jobs_rejected: expected a limit above 0, and fcfs has 0"
    with pytest.raises(InputError, match=told):
        train(Config.model_validate(keys() | {"limits": limits}), tmp_path / "out")


def test_no_log_is_left_out_of_validation() -> None:
    """Of two logs there are two episodes at least, be they the training's own or those of another workload."""
    own = {"workload": LOGS[8], "also": [{"workload": LOGS[8], "first": 16}], "trajectories": {"length": 16}}
    for more in ({}, own):
        with pytest.raises(InputError, match=r"^validation\.episodes: expected at least 2, one of each log, found 1$"):
            check(Config.model_validate(keys() | {"validation": more | {"episodes": 1}}))
    alone = {key: value for key, value in own.items() if key != "also"}
    check(Config.model_validate(keys() | {"validation": alone | {"episodes": 1}}))


def test_the_time_unit_of_a_log_is_that_of_its_machine(tmp_path: Path) -> None:
    """SimGrid's speeds and transitions have none: 1 Gf are 1e9 operations in a minute where that log counts minutes."""
    log, machine = tmp_path / "log.swf", tmp_path / "machine.xml"
    Workload.read(LOGS[8]).write(log)
    machine.write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone></platform>'
    )
    minutes = {"workload": str(log), "time_unit": "min"}
    document = {"kind": "job-choice", "platform": str(machine), "workload": str(log)}

    def speeds(**environment: Any) -> list[float]:
        inputs = inputs_of(MakeEnvironment.of(EnvironmentKeys(**document | environment))().episodes)
        return [platform.processor_types[0].ops_per_s for platform, _ in inputs]

    assert speeds(also=[minutes | {"platform": str(machine)}]) == pytest.approx([1e9, 1e9 / 60])
    assert speeds(also=[minutes]) == pytest.approx([1e9, 1e9])  # on the machine of the first log
    others = [{"workload": str(log), "platform": str(machine)}, {"workload": str(log)}]
    assert speeds(time_unit="min", also=others) == pytest.approx([1e9 / 60, 1e9, 1e9 / 60])


def test_its_agent_plays_on_either_machine(tmp_path: Path) -> None:
    """The training validates on pieces of both; evaluations ask which machine is meant."""
    config = Config.model_validate(keys())
    [summary] = train(config, tmp_path / "agent")
    pieces = as_many(source(), 5)
    waited = [Simulation(each.platform, each.workload, make_scheduler(SAF)).run().summary() for each in pieces]
    slowdowns = [each["mean_bounded_slowdown"] for each in waited]
    assert summary.baselines[SAF][0] == pytest.approx(np.mean(slowdowns))
    for episode in pieces[::4]:
        found = Simulation(episode.platform, episode.workload, make_scheduler(f"learned:{tmp_path / 'agent'}")).run()
        assert found.summary()["jobs_completed"] == 16
    told = r"^evaluate: expected --platform P, for the agent was trained on several machines, found \S+=8, \S+=32$"
    with pytest.raises(InputError, match=told):
        cases_of(tmp_path / "agent", LOGS[32])
    [case] = cases_of(tmp_path / "agent", LOGS[32], "homogeneous:nodes=1,cores=32")
    assert case.platform.core_count == 32


class Played(Training):
    """A training that notes in which iteration it has played jobs of which log, and how many were completed."""

    def __init__(self, config: Config, folder: Path):
        super().__init__(config, folder)
        self.played: list[tuple[int, str, float]] = []

    def _note(self, episodes: Sequence[Trajectory]) -> None:
        self.played += [(self.iteration, episode.name, episode.metrics["jobs_completed"]) for episode in episodes]
        super()._note(episodes)


def test_it_learns_from_both_and_goes_on_the_same(tmp_path: Path) -> None:
    """In every iteration jobs of both logs, all of which run on their machine.

    Resumed after the first it plays what it would have played, to the same weights.
    """
    for cores, log in LOGS.items():
        Workload.read(log).write(tmp_path / f"of-{cores}.swf")
    files = {cores: str(tmp_path / f"of-{cores}.swf") for cores in LOGS}
    other = {"platform": "homogeneous:nodes=1,cores=32", "workload": files[32]}
    more = {"iterations": 3, "checkpoint_every": 1, "validation": {"every": 3, "episodes": 2}}
    config = Config.model_validate(keys(workload=files[8], also=[other]) | more)
    whole, broken_off, resumed = (Played(config, tmp_path / name) for name in ("whole", "resumed", "resumed"))
    assert (Workload.read(files[32]).jobs["requested_cores"] > 8).any()  # which the small machine would reject
    whole.run()
    assert set(whole.played) == {(iteration, f"of-{cores}", 16) for iteration in range(3) for cores in LOGS}
    save, broken_off.save = broken_off.save, lambda: save() if broken_off.iteration <= 1 else None  # type: ignore[method-assign]
    broken_off.run()
    resumed.run(begun=True)
    assert resumed.played == [one for one in whole.played if one[0] > 0]
    for name, weight in whole.network.weights().items():
        np.testing.assert_array_equal(resumed.network.weights()[name], weight)
