"""What a review found: odd ends of runs, odd numbers from users, books of power models, files that were cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from cluster_sim import FormatError, InputError, Placement, Platform, Result, Simulation, View, Workload
from cluster_sim.errors import ModelWarning, PlacementError, SimulationError, SpecError
from cluster_sim.models.network import network_models
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.registry import Spec
from cluster_sim.run.decisions import Decision, WakeAt
from schedulers import AlwaysOn, Fcfs, Scheduler, make_scheduler
from tests.support.rows import workload_of

from .conftest import SWITCHING, WATTS, At, jobs, machine

NAN, INF = float("nan"), float("inf")


def test_killed_without_a_reason_is_still_killed(at: At) -> None:
    """An empty reason does not make a killed job a completed one."""
    simulation = Simulation(machine(), jobs((0, 1, 10)), Fcfs())
    at(simulation, 2.0, lambda: simulation.kill("0", ""))
    assert simulation.run().jobs[["state", "reason"]].values.tolist() == [["killed", "killed"]]


@pytest.mark.parametrize("until", [-1.0, NAN, INF])
def test_an_end_that_is_no_time_is_refused(until: float) -> None:
    """Negative, infinite and NaN ends: of the simulation, and of one call of run."""
    with pytest.raises(InputError, match="until"):
        Simulation(machine(), jobs((0, 1, 10)), Fcfs(), until=until)
    with pytest.raises(InputError, match="until"):
        Simulation(machine(), jobs((0, 1, 10)), Fcfs()).run(until=until)


def test_no_call_of_run_goes_beyond_the_end() -> None:
    """``until`` of the simulation is the end of the run, whatever ``run`` is asked for."""
    simulation = Simulation(machine(), jobs((0, 1, 10), (20, 1, 10)), Fcfs(), until=5.0)
    result = simulation.run(until=100.0)
    assert simulation.env.now == 5.0
    assert result.jobs["state"].tolist() == ["unfinished", "unfinished"]


def test_run_stops_at_the_very_float() -> None:
    """now + (until - now) is not always until."""
    simulation = Simulation(machine(), jobs((0, 1, 1e6)), Fcfs())
    for until in np.random.default_rng(0).uniform(0.0, 1.0, 50).cumsum() ** 2:
        simulation.run(until=float(until))
        assert simulation.env.now == until


class Waker(Scheduler):
    """Asks for a pass at one time."""

    def __init__(self, time: float):
        self.time = time

    def schedule(self, view: View) -> Iterable[Decision]:
        """Only that."""
        yield WakeAt(self.time)


def test_woken_at_no_time() -> None:
    """Infinity is never, as the expected end of a job that requested no time is; NaN is refused."""
    simulation = Simulation(machine(), jobs((0, 1, 10)), Waker(INF))
    with pytest.warns(ModelWarning, match="1 job is unfinished"):
        simulation.run()
    assert simulation.env.now == 0.0
    with pytest.raises(SimulationError, match="WakeAt"):
        Simulation(machine(), jobs((0, 1, 10)), Waker(NAN)).run()


def test_one_power_policy_serves_two_simulations() -> None:
    """It begins when a run begins, so that two that are built before either runs do not share its memory."""
    policy = AlwaysOn()
    simulations = [Simulation(machine(nodes=0, off=2), jobs((10, 1, 1)), Fcfs(), policy) for _ in range(2)]
    assert [simulation.run().jobs["start_time"].tolist() for simulation in simulations] == [[10.0], [10.0]]
    assert [simulation.result().summary()["node_switches"] for simulation in simulations] == [2, 2]


def test_memory_that_fits_to_the_last_byte_is_not_refused() -> None:
    """Three tasks of 102.4 MB fill 0.3 GB, though 307.2 / 102.4 is a little less than 3 in floating point."""
    node = NodeType("node", (ProcessorType("processor", 4, 3.0),), memory_gb=0.3)
    platform = Platform((Cluster("cluster0", (NodeGroup(node, 1),)),))
    result = Simulation(platform, jobs((0, 3, 1), memory=[102.4]), Fcfs(memory=True)).run()
    assert result.jobs["state"].tolist() == ["completed"]


@pytest.mark.parametrize("make", [Placement.on, lambda cores: Placement([(n, n + 1, c) for n, c in cores.items()])])
def test_placements_of_numpy_integers(make: Callable[[dict[int, int]], Placement]) -> None:
    """More than 63 cores of a processor, asked for in numpy's integers, whose shifts overflow."""
    simulation = Simulation(machine(cores=128), jobs((0, 70, 5), (0, 50, 5)))
    view = simulation.step_to_decision()
    assert view is not None
    cores = np.array([70, 50])
    simulation.decide(*((job, make({np.int64(0): n})) for job, n in zip(view.pending, cores, strict=True)))
    simulation.run(until=1.0)
    result = simulation.result()
    assert result.allocations[["first_core", "last_core"]].values.tolist() == [[0, 69], [70, 119]]


def test_parts_of_cores_cannot_be_placed() -> None:
    """A placement of 1.5 cores is refused before anything is booked."""
    with pytest.raises(PlacementError, match=r"in whole numbers, not \{0: 1.5\}"):
        Placement.on({0: 1.5})  # type: ignore[dict-item]


def test_clock_of_a_node_that_is_off_under_a_rate_power_model(at: At) -> None:
    """Used, switched off, slowed, switched on again: idle watts are those of the new clock, in the curve and the books."""
    processor = ProcessorType("processor", 2, 3.0, power=WATTS)
    node = NodeType("node", (processor,), transitions=SWITCHING)
    platform = Platform((Cluster("cluster0", (NodeGroup(node, 1),)),), power_model="stall-aware")
    simulation = Simulation(platform, jobs((0, 1, 5), (40, 1, 5)), Fcfs())
    at(simulation, 10.0, simulation.node(0).switch_off)
    at(simulation, 15.0, lambda: simulation.machine.processor(0).set_clock(1.5))
    at(simulation, 20.0, simulation.node(0).switch_on)
    result = simulation.run()
    power = result.power.set_index("time")["watts"]
    assert power[24.0] == 5.0 / 4
    curve = (result.power["watts"].to_numpy()[:-1] * np.diff(result.power["time"])).sum()
    assert curve == pytest.approx(result.summary()["energy_j"], rel=1e-9)


def test_an_option_given_twice_in_two_spellings_is_refused() -> None:
    """Spaces and hyphens do not make another option of it."""
    for spec in ("list:blocking=no,blocking =yes", "x:a-b=1,a_b=2"):
        with pytest.raises(SpecError, match="once"):
            Spec.parse(spec)


def test_a_graph_cannot_be_given_as_text() -> None:
    """It would fail when the run is built, as a defect of ours."""
    with pytest.raises(InputError, match="graph"):
        network_models.make("shared:graph=x")


# ---------------------------------------------------------------------- files


def saved(directory: Path) -> Path:
    """A small result on disk."""
    Simulation(machine(nodes=2), jobs((0, 1, 5), (1, 2, 3)), Fcfs()).run().save(directory)
    return directory


@pytest.mark.parametrize("table", ["jobs", "node_states", "power"])
def test_a_table_that_was_cut_off_is_refused(tmp_path: Path, table: str) -> None:
    """Loading says so and names the file: wherever the last row is cut, and at every third place before it."""
    path = saved(tmp_path) / f"{table}.csv"
    whole = path.read_text()
    last_row = whole.rindex("\n", 0, len(whole) - 1) + 2
    for length in (*range(whole.index("\n") + 2, last_row, 3), *range(last_row, len(whole))):
        if whole[length - 1] != "\n":
            path.write_text(whole[:length])
            with pytest.raises(FormatError, match=f"{table}.csv"):
                getattr(Result.load(tmp_path), table)


@pytest.mark.parametrize("text", ["time,watts\n0\n", "time,watts\n0,1,2\n", "time,watts\n", "time,watts\n0,\n"])
def test_rows_that_do_not_fit_the_header_are_refused(tmp_path: Path, text: str) -> None:
    """Too few cells, too many, none."""
    (saved(tmp_path) / "power.csv").write_text(text)
    for table in ("power", "queue"):
        with pytest.raises(FormatError, match=r"power\.csv"):
            getattr(Result.load(tmp_path), table)


def test_a_result_that_is_a_file(tmp_path: Path) -> None:
    """Its name is told, in one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match="file"):
        Result.load(tmp_path / "file")


def test_job_ids_of_any_characters_come_back(tmp_path: Path) -> None:
    """Separators, quotes, line ends of every kind, words that stand for nothing elsewhere."""
    ids = ["a;b", "c:d", "e\nf", "g\rh", "i\r\nj", "k,l", '"m"', " n ", "NA", "1e5", "007", "ü"]
    columns = {"job_id": ids, "submit_time": 0.1, "requested_cores": 1, "recorded_run_time": 1.1, "user": ids}
    # The last one is too wide, so that some cells are empty.
    filled = {name: value if isinstance(value, list) else [value] * len(ids) for name, value in columns.items()}
    filled["requested_cores"] = [*[1] * (len(ids) - 1), 9]
    result = Simulation(machine(), Workload(filled), Fcfs()).run()
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    for column in ("job_id", "user", "state", "start_time"):
        assert loaded.jobs[column].fillna(-1.0).tolist() == result.jobs[column].fillna(-1.0).tolist()
    assert loaded.allocations.values.tolist() == result.allocations.values.tolist()


def test_energy_ends_with_the_last_completion() -> None:
    """A job refused long after the last completion does not stretch the window of the energy."""
    processor = ProcessorType("p", 1, 1.0, power={"static_w": 10.0, "dynamic_w": 0.0, "min_power": 1.0})
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (processor,)), 1),)),))
    workload = Workload({"submit_time": [0.0, 100.0], "requested_cores": [1, 9], "recorded_run_time": [10.0, 1.0]})
    result = Simulation(platform, workload, Fcfs()).run()
    summary = result.summary()
    assert (summary["energy_j"], summary["makespan_s"], summary["jobs_rejected"]) == (100.0, 10.0, 1)
    assert summary["jobs_submitted"] == 2
    assert result.power["time"].tolist() == [0.0, 10.0]
    assert result.node_states["end"].max() == 10.0


def test_demand_is_known_without_contention() -> None:
    """Where nothing contends, node orders still see the bandwidth that running tasks ask for."""
    workload = workload_of((0.0, 1, 100.0), (1.0, 1, 100.0), (2.0, 1, 100.0), mem_vol=[1e5, 1e3, 0.0])
    scheduler = make_scheduler("list:first/high_mem_bw")
    result = Simulation(Platform.homogeneous(2, 4), workload, scheduler, contention="none").run()
    assert result.allocations["node"].tolist() == ["cluster0.node0", "cluster0.node1", "cluster0.node1"]
