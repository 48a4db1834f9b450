"""Jobs that wait for jobs under the scheduler ``slurm``: what each kind of --dependency waits for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import FormatError, InputError
from schedulers.slurm.dependencies import Condition, Dependency

pytestmark = pytest.mark.filterwarnings("ignore:.*only the scheduler slurm", "ignore:.*unfinished", "ignore:.*left")

CONF = """\
ClusterName=lab
SchedulerType=sched/backfill
SelectType=select/linear
SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=2
NodeName=n[1-4] CPUs=1
PartitionName=p Nodes=ALL Default=YES
"""


def starts(tmp_path: Path, keys: str = "", **asks: dict[str, Any]) -> dict[str, float]:
    """When each job starts, s: they come a second after one another, run 60 s, with a node each; ``keys``: more of the conf."""
    conf, extra = tmp_path / "slurm.conf", tmp_path / "asks.json"
    conf.write_text(CONF + keys)
    extra.write_text(json.dumps(asks))
    count = len(asks)
    jobs = {"job_id": list(asks), "submit_time": list(range(count)), "requested_cores": [1] * count}
    jobs |= {"recorded_run_time": [60.0] * count, "requested_time": [120.0] * count}
    scheduler = make_scheduler(f"slurm:conf={conf},asks={extra}")
    result = Simulation(Platform.read(conf), Workload(jobs), scheduler).run()
    return dict(zip(result.jobs["job_id"], result.jobs["start_time"], strict=True))


def test_all_conditions_or_one() -> None:
    """Commas ask for all of them, question marks for one."""
    both = (Condition("afterok", "1"), Condition("afterok", "2"), Condition("after", "3", 600.0))
    assert Dependency.parse("afterok:1:2,after:3+10") == Dependency(both)
    assert Dependency.parse("afterok:1:2?after:3+10") == Dependency(both, one_is_enough=True)


@pytest.mark.parametrize(
    "text", ["afterok", "before:1", "afterok:1,afterany:2?after:3", "afterok:1+x", "singleton:1", ""]
)
def test_what_is_no_dependency(text: str) -> None:
    """It is told what one looks like."""
    with pytest.raises(FormatError, match="afterok:1:2"):
        Dependency.parse(text)


def test_a_wrong_dependency_is_told_with_its_job(tmp_path: Path) -> None:
    """Before the run."""
    with pytest.raises(InputError, match="job b, dependency: expected conditions"):
        starts(tmp_path, a={}, b={"dependency": "afterwards:a"})


def test_an_end_well_or_not(tmp_path: Path) -> None:
    """Who waits for the success of a job that fails waits for ever, and so does who waits for a failure of one that does well."""
    found = starts(
        tmp_path,
        well={},
        fails={"exit_code": 1},
        ok={"dependency": "afterok:well"},
        any={"dependency": "afterany:fails"},
        notok={"dependency": "afternotok:fails"},
        lost={"dependency": "afterok:fails"},
        lost2={"dependency": "afternotok:well"},
        one={"dependency": "afterok:fails?afterok:well"},
        both={"dependency": "afterok:fails,afterok:well"},
    )
    assert 60.0 < found["ok"] < 65.0
    assert 60.0 < found["any"] < 65.0
    assert 60.0 < found["notok"] < 65.0
    assert 60.0 < found["one"] < 65.0
    assert all(math.isnan(found[name]) for name in ("lost", "lost2", "both"))


def test_a_start_and_some_minutes(tmp_path: Path) -> None:
    """``after`` waits for a start; +2 for two minutes from then on."""
    found = starts(tmp_path, first={}, soon={"dependency": "after:first"}, later={"dependency": "after:first+2"})
    assert found["soon"] < 10.0
    assert found["first"] + 120.0 <= found["later"] < found["first"] + 125.0


def test_one_at_a_time(tmp_path: Path) -> None:
    """Jobs of one name and user that are singletons follow each other; another name does not wait."""
    solo = {"name": "solo", "dependency": "singleton"}
    found = starts(tmp_path, a=solo, b=solo, c=solo, other={"name": "x", "dependency": "singleton"})
    assert found["a"] + 60.0 < found["b"] < found["a"] + 65.0
    assert found["b"] + 60.0 < found["c"] < found["b"] + 65.0
    assert found["other"] < 10.0


def test_tasks_of_arrays(tmp_path: Path) -> None:
    """Task by task, or after all tasks."""
    asks: dict[str, Any] = {"1_1": {}, "1_2": {"exit_code": 1}}
    asks |= {key: {"dependency": "aftercorr:1"} for key in ("2_1", "2_2")}
    asks |= {"all": {"dependency": "afterok:1"}, "end": {"dependency": "afterany:1"}}
    found = starts(tmp_path, **asks)
    assert found["1_1"] + 60.0 < found["2_1"] < found["1_1"] + 65.0
    assert math.isnan(found["2_2"])
    assert math.isnan(found["all"])
    assert found["1_2"] + 60.0 < found["end"] < found["1_2"] + 65.0


def test_a_job_that_nobody_submitted_keeps_nobody_waiting(tmp_path: Path) -> None:
    """As where a log was cut."""
    assert starts(tmp_path, a={"dependency": "afterok:gone"})["a"] < 10.0


def test_an_end_within_the_over_time_limit_is_well(tmp_path: Path) -> None:
    """Slurm completes such jobs, as in the recorded run over-time-limit."""
    jobs: dict[str, Any] = {"a": {"limit_s": 50.0}, "b": {"dependency": "afterok:a"}}
    conf = "OverTimeLimit=1\n"
    assert 60.0 < starts(tmp_path, conf, **jobs)["b"] < 65.0
