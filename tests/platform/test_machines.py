"""The library of machines: figures as their sources have them, and every machine ready to run."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError
from cluster_sim.models.power import power_models, watts
from cluster_sim.platform.library import machines, server_fit, source_of
from cluster_sim.platform.library_table import MACHINES, MachineEntry, ServerEntry

NAMES = [entry.name for entry in MACHINES]
EVERY = pytest.mark.parametrize("name", NAMES)


def node_watts(platform: Platform, busy: bool) -> float:
    """Watts of the platform's first node, idle or with every core busy."""
    model = power_models.make(platform.power_model)
    return sum(watts(model, p, p.cores if busy else 0) for p in platform.node_types[0].processors)


@EVERY
def test_every_machine_runs_a_job(name: str) -> None:
    """Read without a warning, with a source; one of its nodes runs a job that fills it, and draws what it should."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        platform = Platform.read(f"machine:{name}")
    assert source_of(name)
    assert machines.help(name).endswith(".")
    assert platform.id == name
    cores = int(platform.node_cores[0])
    jobs = {"submit_time": [0.0], "requested_cores": [cores], "recorded_run_time": [100.0], "mem_vol": [1.0]}
    result = Simulation(Platform.read(f"machine:{name}"), Workload(jobs), make_scheduler("fcfs")).run()
    assert result.jobs["state"].tolist() == ["completed"]
    assert float(result.power["watts"].max()) > 0.0


@EVERY
def test_every_machine_can_be_written_and_read(tmp_path: Path, name: str) -> None:
    """As a file of the own format it is the same platform."""
    platform = Platform.read(f"machine:{name}")
    platform.write(tmp_path / "m.yaml")
    assert Platform.read(tmp_path / "m.yaml") == platform


def test_irmasims_cluster_draws_what_its_table_says() -> None:
    """15 quad-cores at 3.4 GHz under full load: 15·(5.59316 + 4·6.14211) = 452 W."""
    platform = Platform.read("machine:irmasim-15")
    assert platform.node_count == 15
    assert 15 * node_watts(platform, busy=True) == pytest.approx(452.42, abs=0.01)
    mixed = Platform.read("machine:irmasim-8-4-3")
    assert [group.count for group in mixed.clusters[0].groups] == [8, 4, 3]
    assert [node.processors[0].clock_ghz for node in mixed.node_types] == [3.4, 2.5, 1.7]


def test_the_studies_platforms(shared: Path) -> None:
    """The Energy scheduler's and PCBE's machines are those of their own input files."""
    files = {
        "energy-scheduler-2": "irmasim/experiment2", "energy-scheduler-3": "irmasim/experiment3",
        "energy-scheduler-4": "irmasim/experiment4-mem", "pcbe": "pcbe/scale-table-5.3",
    }  # fmt: skip
    for name, folder in files.items():
        ours, theirs = Platform.read(f"machine:{name}"), Platform.read(shared / f"cases/{folder}/platform.json")
        assert ours.node_cores.tolist() == theirs.node_cores.tolist(), name
        for mine, published in zip(ours.processor_types, theirs.processor_types, strict=True):
            assert mine.contention == published.contention
            assert mine.power == pytest.approx(dict(published.power), rel=1e-9)


def test_taurus() -> None:
    """14 nodes of 12 cores; 95 W idle, 190 W busy, 60 s and 125 W to boot, 180 s and 101 W to shut down."""
    taurus = Platform.read("machine:taurus")
    assert (taurus.node_count, taurus.core_count) == (14, 168)
    assert node_watts(taurus, busy=False) == pytest.approx(95.0)
    assert node_watts(taurus, busy=True) == pytest.approx(190.0)
    switching = taurus.node_types[0].transitions
    assert (switching.switch_on_s, switching.switch_on_w) == (60.0, 125.0)
    assert (switching.switch_off_s, switching.switch_off_w) == (180.0, 101.0)
    assert switching.off_w == 9.0


def test_grid5000_nodes_are_those_of_the_reference_repository(shared: Path) -> None:
    """Cores, clock and memory."""
    facts = json.loads((shared / "power/nodes_taurus_orion_graphite_econome.json").read_text())
    for name in ("taurus", "orion", "graphite", "econome"):
        node = Platform.read(f"machine:{name}").node_types[0]
        assert node.cores == facts[name]["cores"]
        assert len(node.processors) == facts[name]["sockets"]
        assert node.processors[0].clock_ghz == pytest.approx(facts[name]["clock_hz"] / 1e9)
        assert node.memory_gb == facts[name]["ram_bytes"] / 2**30


def test_supercomputers_are_those_of_their_configurations(shared: Path) -> None:
    """Watts of a node; where the table says so, the number of nodes and the peak rate of a CPU."""
    files = {
        "frontier": "frontier", "summit": "summit", "fugaku": "fugaku", "lumi-c": "lumi/lumi-c", "lumi-g": "lumi/lumi-g",
        "marconi100": "marconi100", "setonix-cpu": "setonix/part-cpu", "adastra": "adastraMI250", "aurora": "aurora",
    }  # fmt: skip
    for name, file in files.items():
        configuration = yaml.safe_load((shared / f"power/raps-config/{file}.yaml").read_text())
        system, power = configuration["system"], configuration["power"]
        entry = next(e for e in MACHINES if e.name == name)
        assert isinstance(entry, MachineEntry)
        rest = power["power_mem"] + system["nics_per_node"] * power["power_nic"] + power["power_nvme"]
        platform = Platform.read(f"machine:{name}")
        cpus = system["cpus_per_node"]
        assert node_watts(platform, busy=False) == pytest.approx(cpus * power["power_cpu_idle"] + rest), name
        assert node_watts(platform, busy=True) == pytest.approx(cpus * power["power_cpu_max"] + rest), name
        assert entry.nodes.sockets == cpus
        if entry.source.startswith("nodes and"):
            racks = system["num_cdus"] * system["racks_per_cdu"] - len(system["missing_racks"])
            nodes = racks * system["nodes_per_rack"] - len(system["down_nodes"])
            assert platform.node_count == nodes, name
        if "its cpu_peak_flops is" in entry.source:
            processor = platform.processor_types[0]
            assert processor.cores * processor.ops_per_s == pytest.approx(float(system["cpu_peak_flops"]), rel=1e-3), (
                name
            )


def test_servers_are_those_of_specpower(shared: Path) -> None:
    """The eleven watts of each server stand in its result, and their line is close to them."""
    published = {
        tuple(float(w) for w in file.read_text().split("\n")[0].split()): file.read_text()
        for file in (shared / "power/specpower").glob("*.txt")
    }
    servers = [entry for entry in MACHINES if isinstance(entry, ServerEntry)]
    assert {entry.watts for entry in servers} == set(published)
    for entry in servers:
        assert entry.result in published[entry.watts]


def test_the_line_through_a_servers_watts() -> None:
    """Least squares over 10 to 100 % load; where idle lies above the line's start, the line starts there."""
    straight = tuple(50.0 + 10.0 * i for i in range(11))
    assert server_fit(straight) == pytest.approx((50.0, 50.0, 150.0, 0.0), abs=1e-9)
    sleepy = (20.0, *straight[1:])
    assert server_fit(sleepy) == pytest.approx((20.0, 50.0, 150.0, 0.0), abs=1e-9)
    idle, start, full, error = server_fit((60.0, *straight[1:]))
    assert (idle, start) == (60.0, 60.0)
    assert full < 150.0
    assert error == pytest.approx(max(np.abs(np.array(straight[1:]) - 60.0 - (full - 60.0) * np.arange(1, 11) / 10)))
    for entry in MACHINES:
        if isinstance(entry, ServerEntry):
            assert server_fit(entry.watts)[3] <= 0.06 * entry.watts[-1], entry.name


def test_numbers_of_nodes() -> None:
    """A part of a machine; machines of several kinds of nodes have no such option."""
    assert Platform.read("machine:taurus,nodes=4").node_count == 4
    assert Platform.read("machine:irmasim-15,nodes=3").node_count == 3
    assert Platform.read("machine:ibm-x3550-x5670,nodes=8").core_count == 96
    for spec, match in (
        ("machine:pcbe,nodes=2", "several kinds"),
        ("machine:taurus,nodes=-1", "0 or more"),
        ("machine:taurs", "taurus"),
        ("machine:", "name"),
    ):
        with pytest.raises(SpecError, match=match):
            Platform.read(spec)
    with pytest.raises(SpecError, match="taurus"):
        source_of("nowhere")


def test_machines_with_their_gpus() -> None:
    """GPUs are there if they are asked for; a machine of which none are documented says which others have some."""
    platform = Platform.read("machine:summit,nodes=2,gpus=yes")
    assert platform.units_of("gpu").tolist() == [6, 6]
    assert platform.node_types[0].idle_resource_w == 6 * 75.0
    assert not Platform.read("machine:summit").resource_names
    with pytest.raises(SpecError, match="machine 'taurus', gpus: expected one of the machines with GPUs, frontier, "):
        Platform.read("machine:taurus,gpus=yes")
