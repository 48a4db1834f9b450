"""Lists of nodes and pods in openb's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import FormatError, ModelWarning

NODES = (
    "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,64000,262144,2,P100\n"
    "n2,96500,393216,8,T4\nn3,8000,1024,0,\n"
)
HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
PODS = (
    "a,12000,16384,1,1000,,LS,Running,0,100,5\n"
    "b,6500,12288,1,460,P100|T4,LS,Running,2,52,\n"
    "c,4000,1024,0,0,,BE,Running,3,13,4\n"
)


def test_nodes_and_pods(tmp_path: Path) -> None:
    """Equal nodes are a group; CPUs are rounded, of nodes down and of pods up; shares are of each GPU."""
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(HEADER + PODS)
    platform, jobs = Platform.read(tmp_path / "nodes.csv"), Workload.read(tmp_path / "pods.csv")
    assert platform.node_cores.tolist() == [64, 64, 96, 8]
    assert platform.units_of("gpu").tolist() == [2, 2, 8, 0]
    assert [group.count for group in platform.clusters[0].groups] == [2, 1, 1]
    assert jobs.jobs["requested_cores"].tolist() == [12, 7, 4]
    assert jobs.jobs["gpu_share"].tolist() == [1.0, 0.46, 1.0]
    assert jobs.jobs["recorded_run_time"].tolist() == [95.0, 50.0, 9.0]
    result = Simulation(platform, jobs, "list:first/fgd").run()
    assert set(result.jobs["state"]) == {"completed"}
    assert result.resource_holds["share"].tolist() == [1.0, 0.46]
    finer = Platform.read(tmp_path / "nodes.csv", milli=500)
    assert finer.node_cores.tolist() == [128, 128, 193, 16]


def test_pods_without_times_are_told(tmp_path: Path) -> None:
    """They are there from the start, for ever."""
    (tmp_path / "pods.csv").write_text(HEADER + "a,1000,1,1,1000,,,,,,\n")
    with pytest.warns(ModelWarning, match="1 of 1 pods have no times: they are submitted at 0 s and stay for ever"):
        assert Workload.read(tmp_path / "pods.csv").jobs["submit_time"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("pods.csv", HEADER + "a,1000,1,1,x,,,,0,1,0\n", "line 2, gpu_milli: expected a whole number >= 0, found x"),
        ("pods.csv", HEADER + "a,1000,1,1,9,,,,5,1,5\n", "line 2, deletion_time: expected a time from 5 on"),
        ("pods.csv", HEADER + "a,1000\n", "line 2: expected 11 cells"),
        ("nodes.csv", NODES.splitlines()[0] + "\n", "expected at least one node, found none"),
        ("nodes.csv", NODES.splitlines()[0] + "\nn,500,1,1,T4\n", "line 2, processor type '0 cores', cores"),
    ],
)
def test_bad_lists_end_in_one_line(tmp_path: Path, name: str, text: str, told: str) -> None:
    """Where, what was expected, what was found."""
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as error:
        (Workload if name == "pods.csv" else Platform).read(tmp_path / name)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
