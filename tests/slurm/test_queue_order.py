"""Slurm's priorities as an order of the queue of schedulers that are not Slurm's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import CautionWarning, InputError, ModelWarning
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.records.result import Result
from cluster_sim.run.decisions import Decision
from cluster_sim.run.view import View
from schedulers.queue.orders import job_orders
from tests.support.contract import chaos
from tests.support.rows import workload_of

pytestmark = pytest.mark.filterwarnings("ignore:.*only the scheduler slurm")

HEAD = "ClusterName=lab\nAccountingStorageType=accounting_storage/slurmdbd\nPriorityType=priority/multifactor\n"
TAIL = """\
PriorityCalcPeriod=1
NodeName=n1 CPUs=4
PartitionName=p Nodes=ALL Default=YES PriorityJobFactor=1
PartitionName=q Nodes=ALL PriorityJobFactor=10
"""


def conf(tmp_path: Path, *keys: str) -> str:
    """A slurm.conf of one node with 4 CPUs."""
    path = tmp_path / "slurm.conf"
    path.write_text(HEAD + "".join(f"{key}\n" for key in keys) + TAIL)
    return str(path)


def run(
    tmp_path: Path, keys: tuple[str, ...], jobs: dict[str, list[object]], spec: str = "easy:order=multifactor"
) -> Result:
    """A run of jobs that each take the whole node for 100 s, unless said otherwise; users a and b have equal shares."""
    platform = Platform.read(conf(tmp_path, *keys))
    count = len(jobs["submit_time"])
    columns = {"requested_cores": [4] * count, "recorded_run_time": [100] * count, "requested_time": [100] * count}
    (tmp_path / "accounts.txt").write_text(
        "Account|User|Share\nacc||1\nacc|a|1\nacc|b|1\nName|Priority\nnormal|0\nhigh|5\n"
    )
    accounts = read_accounts(str(tmp_path / "accounts.txt"))
    return Simulation(platform, Workload(columns | jobs), make_scheduler(spec), explain=True, accounts=accounts).run()


def order_of(result: Result) -> list[str]:
    """Ids by their start."""
    return [str(job) for job in result.jobs.sort_values("start_time")["job_id"]]


@pytest.mark.parametrize("scheduler", ["easy:order=multifactor", "list:multifactor/first"])
def test_who_has_used_less_goes_first(tmp_path: Path, scheduler: str) -> None:
    """User a's job runs over the end of a period, so b, who came last, goes before a's other jobs."""
    jobs: dict[str, list[object]] = {"submit_time": [0, 1, 2, 3], "user": ["a", "a", "a", "b"]}
    result = run(tmp_path, ("PriorityWeightFairshare=1000",), jobs, scheduler)
    assert order_of(result) == ["0", "3", "1", "2"]


def test_keys_are_steps(tmp_path: Path) -> None:
    """At 50 s no period has ended, and what a has used does not count yet; at 100 s one has."""
    jobs: dict[str, list[object]] = {"submit_time": [0, 1, 2], "user": ["a", "a", "b"], "recorded_run_time": [50] * 3}
    assert order_of(run(tmp_path, ("PriorityWeightFairshare=1000",), jobs)) == ["0", "1", "2"]
    assert order_of(run(tmp_path, ("PriorityWeightFairshare=1000",), jobs | {"recorded_run_time": [70] * 3})) == [
        "0",
        "2",
        "1",
    ]


@pytest.mark.parametrize(
    ("keys", "jobs"),
    [
        (("PriorityWeightPartition=10",), {"partition": ["p", "p", "p", "q"]}),
        (("PriorityWeightQOS=10",), {"qos": ["normal", "normal", "", "high"]}),
        (("PriorityWeightJobSize=100",), {"requested_cores": [4, 3, 2, 4]}),
        (("PriorityWeightJobSize=100", "PriorityFavorSmall=YES"), {"requested_cores": [4, 4, 3, 2]}),
    ],
)
def test_partitions_qualities_and_sizes(tmp_path: Path, keys: tuple[str, ...], jobs: dict[str, list[object]]) -> None:
    """The last job goes before the two that came before it."""
    times: dict[str, list[object]] = {"submit_time": [0, 1, 2, 3], "user": ["a"] * 4}
    assert order_of(run(tmp_path, keys, times | jobs))[:2] == ["0", "3"]


def test_explain_tells_the_parts(tmp_path: Path) -> None:
    """Of the priority that the job had when it started: 99 s in the queue are 98 at the end of the first period, 60 s."""
    jobs: dict[str, list[object]] = {"submit_time": [0, 10], "user": ["a", "b"], "partition": ["p", "q"]}
    keys = ("PriorityWeightAge=100", "PriorityMaxAge=00:01:40", "PriorityWeightPartition=7")
    result = run(tmp_path, keys, jobs)
    assert "priority 57 (age 50, partition 7)" in result.explain("1")


def test_a_platform_without_a_configuration(tmp_path: Path) -> None:
    """conf=FILE says what the platform does not; without it jobs go in order of submission, which is told."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    jobs = workload_of((0, 4, 70), (1, 4, 70), (2, 4, 70), user=["a", "a", "b"])
    path = conf(tmp_path, "PriorityWeightFairshare=1000")
    assert order_of(Simulation(platform, jobs, make_scheduler(f"easy:order=multifactor:conf={path}")).run()) == [
        "0",
        "2",
        "1",
    ]
    with pytest.warns(ModelWarning, match=r"the platform has no slurm\.conf") as told:
        assert order_of(Simulation(platform, jobs, make_scheduler("easy:order=multifactor")).run()) == ["0", "1", "2"]
    assert [one.filename for one in told if one.category is not CautionWarning] == [__file__]
    other = tmp_path / "lab.yaml"
    platform.write(str(other))
    with pytest.raises(InputError, match=r"option conf: expected a slurm\.conf"):
        job_orders.make(f"multifactor:conf={other}")


@pytest.mark.parametrize("accounting", [True, False])
def test_warnings_point_at_who_runs(tmp_path: Path, accounting: bool) -> None:
    """At the line that runs it, wherever in a run they come up: a user without an association, and weights that are 0."""
    keys = "PriorityWeightAge=9" if accounting else "AccountingStorageType=accounting_storage/none\nPriorityWeightAge=9"
    with pytest.warns(ModelWarning, match="no association|count as 0 without") as told:
        run(tmp_path, (keys,), {"submit_time": [0], "user": ["c"]})
    text = "user 'c' has no association" if accounting else "PriorityWeightAge and PriorityWeightFairshare count as 0"
    assert sum(text in str(one.message) for one in told) == 1
    assert {one.filename for one in told} == {__file__}


def test_jobs_that_are_stopped_and_go_on(tmp_path: Path) -> None:
    """Killed, requeued and cancelled jobs leave the books: the next run of a's is after b's, and nothing is left over."""
    platform = Platform.read(conf(tmp_path, "PriorityWeightFairshare=1000"))
    count = 6
    jobs = Workload(
        {"submit_time": [0, 1, 2, 3, 4, 5], "user": ["a", "a", "b", "a", "b", "a"], "requested_cores": [4] * count,
         "recorded_run_time": [100] * count, "requested_time": [100] * count}
    )  # fmt: skip
    scheduler = make_scheduler("easy:order=multifactor")
    simulation = Simulation(platform, jobs, scheduler)
    simulation.run(until=50)
    simulation.requeue("0")
    simulation.run(until=130)
    simulation.kill("5")
    simulation.run(until=170)
    simulation.kill("3")
    result = simulation.run()
    assert result.jobs["state"].value_counts().to_dict() == {"completed": 4, "killed": 2}
    in_run = scheduler._job_order.in_run(simulation.view)  # type: ignore[attr-defined]
    assert not in_run._waiting
    assert not in_run._stopped


class Follows(chaos.Chaos):
    """Does what it likes to jobs, while an order follows the run; before each pass the order's books are right."""

    conf = ""

    def begin(self, view: View) -> None:
        """Bind the order to the run."""
        super().begin(view)
        self._order = job_orders.make(f"multifactor:conf={self.conf}").in_run(view)

    def schedule(self, view: View) -> Iterator[Decision]:
        """Look at the books, then go on."""
        order = self._order
        running = {index: one.placement.cores for index, one in view.running_by_index.items()}
        assert {index: order.priorities._rates[index] for index in order._running} == running
        assert set(order.priorities.shares.usage._jobs) == set(running)
        assert set(order._waiting) == {job.index for job in view.pending}
        yield from super().schedule(view)


@pytest.mark.parametrize("seed", range(12))
def test_the_books_are_right_whatever_is_done_to_jobs(tmp_path: Path, seed: int) -> None:
    """Preempted, suspended, resumed, resized, requeued, failed: who runs adds to usage, with as many CPUs as it has."""
    scheduler = Follows()
    scheduler.conf = conf(tmp_path, "PriorityWeightFairshare=1000")
    _, result = chaos.run(chaos.draw(Random(seed)), scheduler)
    assert len(result.jobs)


AGE = ("PriorityMaxAge=1-0", "PriorityWeightAge=100000")


@pytest.mark.parametrize("scheduler", ["easy:order=multifactor", "list:multifactor/first", "slurm"])
def test_with_accrue_always_age_counts_from_submission(tmp_path: Path, scheduler: str) -> None:
    """Job X waits for A, and is older than Y, which came later and was eligible before it."""
    jobs: dict[str, list[object]] = {"job_id": ["A", "X", "Y"], "submit_time": [0, 1, 50], "after": ["", "A", ""]}
    spec = f"slurm:conf={tmp_path}/slurm.conf" if scheduler == "slurm" else scheduler
    assert order_of(run(tmp_path, (*AGE, "PriorityFlags=ACCRUE_ALWAYS"), jobs, spec)) == ["A", "X", "Y"]
    if scheduler != "slurm":
        assert order_of(run(tmp_path, AGE, jobs, spec)) == ["A", "Y", "X"]


def test_a_job_that_waits_again_keeps_its_age(tmp_path: Path) -> None:
    """A loses its node, and is older than B, which has waited meanwhile: it is started first, at once."""
    path = tmp_path / "failures.csv"
    path.write_text("time,node,event\n50,0,fail\n50,0,repair\n")
    platform = Platform.read(conf(tmp_path, *AGE))
    jobs = workload_of((0, 4, 100), (30, 4, 100), job_id=["A", "B"])
    result = Simulation(platform, jobs, make_scheduler("easy:order=multifactor"), failures=f"trace:{path}").run()
    ends = dict(zip(result.jobs["job_id"], result.jobs["finish_time"], strict=True))
    assert ends == {"A": 150.0, "B": 250.0}
