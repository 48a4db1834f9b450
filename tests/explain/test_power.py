"""What a run says of a job that waits for nodes that a power policy withholds, or that are in transition: stories."""

from __future__ import annotations

from collections.abc import Iterator

from cluster_sim import Platform, PowerTransitions, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.run.decisions import PowerDecision, Withhold
from schedulers import PowerPolicy

TRANSITIONS = PowerTransitions(off_w=1.0, switch_on_s=10.0, switch_on_w=9.0, switch_off_s=60.0, switch_off_w=9.0)


def run(nodes: int, power: str | PowerPolicy | None, *jobs: tuple[float, int, float, float]) -> Simulation:
    """Jobs a, b, … (submitted s, cores, runs s, requests s) on nodes of one core that are on, first come, first served."""
    submitted, cores, runs, requests = zip(*jobs, strict=True)
    columns = {"job_id": [*"abcd"[: len(jobs)]], "submit_time": submitted, "requested_cores": cores}
    workload = Workload({**columns, "recorded_run_time": runs, "requested_time": requests})
    platform = Platform.homogeneous(nodes=nodes, cores=1, transitions=TRANSITIONS)
    policy = make_power_policy(power) if isinstance(power, str) else power
    return Simulation(platform, workload, make_scheduler("fcfs"), policy, explain=True)


def told(result: Result, job: str) -> list[str]:
    """The lines between the length of the wait and the run."""
    lines = result.explain(job).splitlines()
    return lines[2 : [line.startswith("It ran") for line in lines].index(True)]


def test_off_reservation_withholds_nodes() -> None:
    """b may wait until 10 + 0.5 · 300 - 10 s, and a ends at 100 s: the three other nodes stay withheld until then."""
    result = run(4, "off-reservation:0.5", (0, 1, 100, 100), (10, 1, 50, 300)).run()
    assert told(result, "b") == [
        "  from 10 s to 100 s: it asks for 1 core, 0 free (3 of 4 nodes are withheld by off-reservation); "
        "job a holds 1 core (expected until 100 s); enough cores should be free at 100 s",
        "It was started at 100 s, when job a ended and gave cores back.",
    ]


def test_nodes_that_switch_off() -> None:
    """The idle node switches off from 0 to 60 s under a timeout of 0; b, which wants both, finds one OFF after that."""
    result = run(2, "timeout:0", (0, 1, 100, 100), (30, 2, 10, 10)).run()
    assert told(result, "b") == [
        "  from 30 s to 60 s: it asks for 2 cores, 0 free (1 of 2 nodes is switching off); "
        "job a holds 1 core (expected until 100 s); enough cores should be free at 100 s",
        "  from 60 s to 100 s: it asks for 2 cores, 1 free; job a holds 1 core (expected until 100 s); "
        "enough cores should be free at 100 s",
        "It got its cores at 100 s, when job a ended and gave cores back.",
        "Its nodes had to boot, so it began at 110 s.",
    ]


def test_a_node_that_switches_off_cannot_be_called_back() -> None:
    """b comes 20 s after the only node began to switch off, and gets it, to boot it, when it is OFF."""
    result = run(1, "timeout:0", (0, 1, 100, 100), (120, 1, 10, 10)).run()
    assert told(result, "b") == [
        "  from 120 s to 160 s: it asks for 1 core, 0 free (1 of 1 node is switching off)",
        "It got its cores at 160 s, when cluster0.node0 had switched off and could be booted.",
        "Its nodes had to boot, so it began at 170 s.",
    ]


def test_a_boot_is_among_the_last_reasons() -> None:
    """Charts and the pages' lists have them: a finds the node booted, b must wait until it is OFF, c comes when it is."""
    simulation = run(1, "timeout:0", (0, 1, 100, 100), (120, 1, 10, 10), (400, 1, 10, 10))
    off = "it asks for 1 core, 0 free (1 of 1 node is switching off)"
    assert simulation.run().waits.last(["a", "b", "c"]) == [
        "",
        f"{off}; then its nodes had to boot",
        "its nodes had to boot",
    ]


def test_a_job_is_told_of_its_own_nodes() -> None:
    """Both nodes have switched off at 60 s; a gets the first and b the second, and each is told of its own."""
    result = run(2, "timeout:0", (30, 1, 10, 10), (30, 1, 10, 10)).run()
    for job, node in (("a", "node0"), ("b", "node1")):
        said = f"It got its cores at 60 s, when cluster0.{node} had switched off and could be booted."
        assert said in told(result, job)


def test_a_policy_of_ones_own_beside_a_failure_and_a_boot() -> None:
    """One node runs job a, two are withheld, one has failed, and one boots again. The reason names all five."""

    class Hoarder(PowerPolicy):
        def reserve(self, view: object) -> Iterator[PowerDecision]:
            yield from (Withhold(3), Withhold(4))

    simulation = run(5, Hoarder(), (0, 1, 100, 100), (70, 2, 10, 10))
    simulation.node(1).fail()
    simulation.node(2).switch_off()
    simulation.run(until=65.0)
    simulation.node(2).switch_on()
    assert told(simulation.run(), "b") == [
        "  from 70 s to 75 s: it asks for 2 cores, 0 free "
        "(2 of 5 nodes are withheld by Hoarder, 1 is booting, 1 has failed); "
        "job a holds 1 core (expected until 100 s); enough cores should be free at 100 s",
        "  from 75 s to 100 s: it asks for 2 cores, 1 free (2 of 5 nodes are withheld by Hoarder, 1 has failed); "
        "job a holds 1 core (expected until 100 s); enough cores should be free at 100 s",
        "It was started at 100 s, when job a ended and gave cores back.",
    ]
