"""Small runs in which jobs change while they run: a scheduler that follows a script, and two schedules worked by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cluster_sim import Placement, Platform, Result, Simulation, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.run.decisions import Decision, Preempt, Resize, Resume, Start, WakeAt
from cluster_sim.run.view import View
from schedulers.policy.policy import Scheduler
from tests.support.rows import workload_of

Script = Mapping[float, Callable[[View], Iterable[Decision]]]


class Scripted(Scheduler):
    """Does at some times (s) what a script says; in every pass it then starts what fits, in order."""

    chooses_cores = True

    def __init__(self, script: Script):
        self._script = dict(script)

    def schedule(self, view: View) -> Iterable[Decision]:
        """One pass."""
        due = sorted(time for time in self._script if time <= view.now)
        for time in due:
            yield from self._script.pop(time)(view)
        for job in list(view.pending):
            placement = view.place(job, memory=self.memory)
            if placement is None:
                break
            yield Start(job, placement)
        if self._script:
            yield WakeAt(min(self._script))


def run(nodes: int, jobs: dict[str, Any], script: Script, **options: Any) -> Result:
    """A run on nodes of one core."""
    return Simulation(Platform.homogeneous(nodes, 1), Workload(jobs), Scripted(script), explain=True, **options).run()


def of(view: View, job_id: str) -> Any:
    """The running object of a job."""
    return next(running for running in view.running if running.job.job_id == job_id)


def suspended(**options: Any) -> Result:
    """Job a (10 s, both nodes) is suspended at 4 s for job b (3 s, one node), and goes on at 7 s, to 13 s."""

    def stop(view: View) -> Iterable[Decision]:
        b = next(job for job in view.pending if job.job_id == "b")
        yield Preempt(of(view, "a").job, "suspend", because="an urgent job came", behind=b)

    def resume(view: View) -> Iterable[Decision]:
        (gone,) = view.suspended
        yield Resume(gone.job, gone.placement)

    jobs = {
        "job_id": ["a", "b"],
        "submit_time": [0.0, 4.0],
        "requested_cores": [2, 1],
        "recorded_run_time": [10.0, 3.0],
    }
    jobs |= {"requested_time": [20.0, 5.0]}
    return run(2, jobs, {4.0: stop, 7.0: resume}, **options)


def stopped_while_suspended(
    how: str = "", fails: bool = False, then: Callable[[Simulation], None] | None = None, **options: Any
) -> Result:
    """Job a (10 s, both nodes) is suspended at 4 s, where b (8 s, one node) starts; at 6 s it is stopped, or b's node fails."""

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "a").job, "suspend", because="an urgent job came")

    def end(view: View) -> Iterable[Decision]:
        for gone in view.suspended:
            yield Preempt(gone.job, how, because="it takes too long")

    jobs = workload_of((0.0, 2, 10.0), (1.0, 1, 8.0), job_id=["a", "b"])
    script = Scripted({4.0: stop, 6.0: end} if how else {4.0: stop})
    simulation = Simulation(Platform.homogeneous(2, 1), jobs, script, explain=True, **options)
    if then is not None:
        then(simulation)
    if fails:
        simulation.env.at(6.0).callbacks.append(lambda event: simulation.node(0).fail())
    return simulation.run()


def requeued() -> Result:
    """Job a (10 s on both nodes) makes a checkpoint of 1 s after 4 s, and is requeued at 8 s for b (2 s, both nodes).

    It loses 3 s on two nodes, goes on at 10 s with a restart of 2 s, and needs 6 s more, with a checkpoint at 16 s: 19 s.
    """

    def stop(view: View) -> Iterable[Decision]:
        (b,) = view.pending
        yield Preempt(of(view, "a").job, because="an urgent job came", behind=b)
        yield Start(b, view.place(b))

    jobs: dict[str, Any] = {
        "job_id": ["a", "b"],
        "submit_time": [0.0, 8.0],
        "requested_cores": [2, 2],
        "recorded_run_time": [10.0, 2.0],
        "requested_time": [30.0, 5.0],
        "checkpoint_interval": ["4", ""],
        "checkpoint_time": [1.0, 0.0],
        "restart_time": [2.0, 0.0],
    }
    return run(2, jobs, {8.0: stop})


def resized() -> Result:
    """Job a (40 core-s) has four cores to 5 s, changes for 1 s to two, which it has to 16 s."""

    def shrink(view: View) -> Iterable[Decision]:
        running = of(view, "a")
        yield Resize(running.job, view.planning.shrunk(running, 2), because="job b waits for two cores")

    jobs: dict[str, Any] = {
        "job_id": ["a", "b"],
        "submit_time": [0.0, 5.0],
        "requested_cores": [4, 2],
        "recorded_run_time": [10.0, 3.0],
        "min_cores": [1, 0],
        "max_cores": [4, 0],
        "malleable": [True, False],
        "reconfiguration_time": [1.0, 0.0],
    }
    return run(4, jobs, {5.0: shrink})


def asleep(nodes: int) -> Platform:
    """Nodes of one core that are off, and take 4 s to boot."""
    transitions = PowerTransitions(off_w=1.0, switch_on_s=4.0, switch_on_w=20.0, switch_off_s=2.0, switch_off_w=5.0)
    watts = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}
    node = NodeType("n", (ProcessorType("p", 1, 1.0, power=watts),), transitions=transitions, initially_off=True)
    return Platform((Cluster("c", (NodeGroup(node, nodes),)),))


def resumed_elsewhere() -> Result:
    """Job a gets node 0 at 0 s, is suspended at 2 s, before that has booted, and gets it again at 5 s, when it has.

    At 7 s it is suspended again; at 8 s it is given node 1, which has booted at 12 s, and has 3 s to go.
    """

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "a").job, "suspend", because="urgent")

    def resume(view: View) -> Iterable[Decision]:
        (gone,) = view.suspended
        yield Resume(gone.job, Placement.on({int(view.now > 5.0): 1}))

    workload = Workload({"job_id": ["a"], "submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [5.0]})
    script = Scripted({2.0: stop, 5.0: resume, 7.0: stop, 8.0: resume})
    return Simulation(asleep(2), workload, script, explain=True).run()


def suspended_while_booting(how: str) -> Result:
    """Job a (10 s) gets two nodes that are off at 0 s; it is suspended at 2 s, while they boot, and stopped at 6 s."""

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "a").job, "suspend", because="urgent")

    def end(view: View) -> Iterable[Decision]:
        for gone in view.suspended:
            yield Preempt(gone.job, how, because="too long")

    workload = Workload({"job_id": ["a"], "submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [10.0]})
    script = Scripted({2.0: stop} if how == "kill" else {2.0: stop, 6.0: end})
    simulation = Simulation(asleep(2), workload, script, explain=True)
    if how == "kill":
        simulation.env.at(6.0).callbacks.append(lambda event: simulation.kill("a", "too long"))
    return simulation.run()
