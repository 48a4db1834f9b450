"""Batsim's resource is the host, however many cores it has: what a job gets, how fast it computes there, what that draws."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cluster_sim.cli import main
from cluster_sim.errors import CautionWarning, FormatError, ModelWarning
from cluster_sim.formats.batsim_import import read_outputs
from cluster_sim.formats.batsim_results import jobs_table, machine_states_table, write_outputs
from cluster_sim.platform import Platform
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from learning.tasks.job_node.environment import episode_source
from schedulers import make_scheduler

HOST = '<host id="{name}" speed="1Gf"{core}><prop id="watt_per_state" value="100:120:360"/></host>'


def platform_file(folder: Path, cores: int, hosts: int = 3, body: str = "") -> Path:
    """A SimGrid platform: 100 W idle, 120 W with hardly a load, 360 W with all cores busy."""
    core = f' core="{cores}"' if cores > 1 else ""
    text = "".join(HOST.format(name=f"h{i}", core=core) for i in range(hosts))
    path = folder / f"hosts{cores}.xml"
    path.write_text(f'<platform version="4.1"><zone id="AS0" routing="Full">{text}{body}</zone></platform>')
    return path


def workload_file(folder: Path, nb_res: object = 3) -> Path:
    """10 s of computing on 2 hosts, the same again, and a job of 5 s on a host, all at once."""
    document = {
        "nb_res": nb_res,
        "jobs": [
            {"id": "a", "subtime": 0, "res": 2, "walltime": 20, "profile": "compute"},
            {"id": "b", "subtime": 0, "res": 2, "walltime": 20, "profile": "compute"},
            {"id": "c", "subtime": 0, "res": 1, "walltime": 6, "profile": "short"},
        ],
        "profiles": {
            "compute": {"type": "parallel_homogeneous", "cpu": 1e10, "com": 0},
            "short": {"type": "parallel_homogeneous", "cpu": 5e9, "com": 0},
        },
    }
    path = folder / "jobs.json"
    path.write_text(json.dumps(document))
    return path


def simulated(platform: Platform, workload: Workload, scheduler: str = "easy") -> Result:
    """A run; what is warned of is shown by tests of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Simulation(platform, workload, make_scheduler(scheduler)).run()


def test_a_job_gets_whole_hosts_and_computes_on_one_core_of_each(tmp_path: Path) -> None:
    """By hand: b waits for the hosts of a. A busy host draws 120 + (360 - 120) / 24 = 130 W, as SimGrid has it."""
    platform = Platform.read(platform_file(tmp_path, 24))
    with pytest.warns(ModelWarning, match="72 cores count as 3: in a workload of Batsim's a resource is a host"):
        simulation = Simulation(platform, Workload.read(workload_file(tmp_path)), make_scheduler("easy"))
    result = simulation.run()
    table = jobs_table(result).set_index("job_id")
    assert table["starting_time"].to_dict() == {"a": 0.0, "b": 10.0, "c": 0.0}
    assert table["finish_time"].to_dict() == {"a": 10.0, "b": 20.0, "c": 5.0}
    assert table["allocated_resources"].to_dict() == {"a": "0-1", "b": "0-1", "c": "2"}
    watts = [3 * 130.0, 2 * 130.0 + 100.0]  # to 5 s, and from then on
    assert result.summary()["energy_j"] == pytest.approx(5 * watts[0] + 15 * watts[1])
    states = machine_states_table(result)
    assert states[["time", "nb_idle", "nb_computing"]].to_numpy().tolist() == [
        [0, 0, 3], [5, 1, 2], [10, 1, 2], [20, 3, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "scheduler", ["fcfs", "easy", "conservative", "list:smallest/first", "easy:reservation=pinned"]
)
def test_the_number_of_cores_changes_no_schedule(tmp_path: Path, scheduler: str) -> None:
    """Random jobs run at the same times on the same hosts whether these have one core or 24; only watts differ."""
    rng = np.random.default_rng(3)
    jobs = [
        {"id": i, "subtime": float(t), "res": int(n), "walltime": 60, "profile": f"p{i % 9}"}
        for i, (t, n) in enumerate(zip(np.sort(rng.uniform(0, 500, 120)), rng.integers(1, 8, 120), strict=True))
    ]
    profiles = {f"p{i}": {"type": "delay", "delay": 5 + 6 * i} for i in range(9)}
    (tmp_path / "w.json").write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": profiles}))
    workload = Workload.read(tmp_path / "w.json")
    one, many = (
        jobs_table(simulated(Platform.read(platform_file(tmp_path, cores, 8)), workload, scheduler))
        for cores in (1, 24)
    )
    shown = ["job_id", "starting_time", "finish_time", "allocated_resources"]
    assert one[shown].equals(many[shown])
    assert one["waiting_time"].mean() > 0


def test_other_workloads_count_cores(tmp_path: Path) -> None:
    """A log on the same platform has all 72 cores, and each busy one draws its watts."""
    platform = Platform.read(platform_file(tmp_path, 24))
    jobs = Workload({"submit_time": [0, 0], "requested_cores": [48, 24], "recorded_run_time": [10, 10]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        warnings.simplefilter("ignore", CautionWarning)
        result = Simulation(platform, jobs, make_scheduler("fcfs")).run()
    assert result.summary()["mean_wait_s"] == 0
    assert result.summary()["energy_j"] == pytest.approx(10 * 3 * 360)


def test_nodes_of_several_hosts_have_a_core_for_each(tmp_path: Path) -> None:
    """Grouped by ``cores_per_node``, which counts cores: 48 make nodes of two hosts of 24.

    The linear model has 240 W with hardly a load and 10 W per busy host of a node, 200 W where none is busy: a and b
    take 10 s on a node each, then c takes 5 s.
    """
    platform = Platform.read(platform_file(tmp_path, 24, hosts=4), cores_per_node=48)
    assert (platform.node_count, platform.core_count) == (2, 96)
    counted = platform.of_hosts
    assert (counted.node_count, counted.core_count, counted.of_hosts) == (2, 4, counted)
    result = simulated(platform, Workload.read(workload_file(tmp_path)))
    assert result.summary()["energy_j"] == pytest.approx(10 * 2 * (240 + 2 * 10) + 5 * (240 + 10 + 200))


def test_the_number_of_hosts_survives_the_own_format(tmp_path: Path) -> None:
    """Converted, the platform and the jobs still count hosts: in YAML, CSV and SWF."""
    platform, workload = Platform.read(platform_file(tmp_path, 24)), Workload.read(workload_file(tmp_path))
    platform.write(tmp_path / "p.yaml")
    assert Platform.read(tmp_path / "p.yaml") == platform
    expected = simulated(platform, workload).jobs["start_time"].tolist()
    for name in ("w.csv", "w.swf"):
        workload.write(tmp_path / name)
        again = Workload.read(tmp_path / name)
        assert (again.counts_hosts, again.max_procs) == (True, 3)
        assert simulated(Platform.read(tmp_path / "p.yaml"), again).jobs["start_time"].tolist() == expected
    for part in (workload.first(1), workload.slice(0, 1), workload.scale_load(2.0)):
        assert part.counts_hosts


def test_results_are_written_played_back_and_read_by_hosts(tmp_path: Path) -> None:
    """What Batsim would write for its resources is replayed on them, and read back onto the platform."""
    platform, workload = Platform.read(platform_file(tmp_path, 24)), Workload.read(workload_file(tmp_path))
    result = simulated(platform, workload)
    write_outputs(result, tmp_path / "out")
    again = simulated(platform, workload, f"replay:{tmp_path / 'out_jobs.csv'}")
    assert again.jobs_with_allocation()["allocation"].equals(result.jobs_with_allocation()["allocation"])
    read = read_outputs(tmp_path / "out", platform)
    assert read.jobs_with_allocation()["allocation"].equals(result.jobs_with_allocation()["allocation"])
    result.save(tmp_path / "saved")
    assert Result.load(tmp_path / "saved").platform.core_count == 3


def test_jobs_are_fitted_to_hosts(tmp_path: Path) -> None:
    """A job of four hosts does not fit three hosts of 24 cores."""
    platform, workload = Platform.read(platform_file(tmp_path, 24)), Workload.read(workload_file(tmp_path))
    workload.jobs.loc[0, "requested_cores"] = 4
    assert workload.fit_to(platform).jobs["requested_cores"].tolist() == [3, 2, 1]
    assert len(workload.fit_to(platform, "drop")) == 2


def test_an_environment_sees_the_hosts(tmp_path: Path) -> None:
    """The platform that its observations are made for is the one that its episodes run on."""
    with pytest.warns(ModelWarning, match="72 cores count as 3"):
        source = episode_source(str(platform_file(tmp_path, 24)), str(workload_file(tmp_path)), None)
    assert source.platform.core_count == 3


def test_as_many_nodes_as_hosts_are_told(tmp_path: Path) -> None:
    """On a platform that says nothing of hosts a resource is a core, with a warning where nodes seem to be meant."""
    workload = Workload.read(workload_file(tmp_path))
    with pytest.warns(
        ModelWarning, match="counts 3 hosts, as many as platform 'homogeneous' has nodes; each of the 12"
    ):
        Simulation(Platform.homogeneous(3, 4), workload)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        Simulation(Platform.homogeneous(3, 1), workload)
        Simulation(Platform.homogeneous(1, 3), workload)


@pytest.mark.parametrize("nb_res", [0, 1.5, "three", True, [1]])
def test_a_number_of_hosts_that_is_none(tmp_path: Path, nb_res: object) -> None:
    """Is refused in a line that names the key."""
    with pytest.raises(FormatError, match=r"jobs\.json\.nb_res: expected a (whole )?number"):
        Workload.read(workload_file(tmp_path, nb_res))


def test_the_command_line_counts_hosts(tmp_path: Path) -> None:
    """The same by run, with a warning; without a platform there are ``nb_res`` hosts, of 3 GHz as any that are not told."""
    platform, workload = platform_file(tmp_path, 24), workload_file(tmp_path)
    for options, told, wait in (
        (["--platform", str(platform)], "72 cores count as 3", 10.0),
        (["--platform", f"simgrid:{platform},cores_per_node=1"], "72 cores count as 3", 10.0),
        ([], "", 10 / 3),
    ):
        words = ["run", *options, "--workload", str(workload), "-s", "easy", "--out", str(tmp_path / "out")]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.stderr
        assert told in done.stderr
        assert done.stderr.count("count as") == bool(told)
        assert Result.load(tmp_path / "out").jobs["wait_time"].tolist() == [0.0, wait, 0.0]
