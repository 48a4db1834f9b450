"""IRMaSim's platform JSON: its layouts, its published platforms, and bad input in one line."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.platform import Platform

DOCUMENT: dict[str, Any] = {
    "platform": {
        "lab": {
            "id": "something else",
            "model_name": "modelV1",
            "clusters": [
                {
                    "id": "east",
                    "nodes": [
                        {"type": "thin", "number": 2}, {"type": "fat", "count": 3}, {"type": "thin", "number": 0},
                    ],
                    "local_links": {"type": "InfiniBand QDR", "latency": "0us"},
                },
                {"nodes": [{"type": "fat"}]},
            ],
        }
    },
    "node": {
        "thin": {"id": "n", "processors": [{"type": "p4", "number": 2}], "memory": {"type": "DDR3", "capacity": 32}},
        "fat": {"id": "n", "processors": [{"type": "p8"}, {"type": "p4", "count": 1}]},
        "unused": {"processors": "nonsense"},
    },
    "processor": {
        "p4": {"id": "x", "cores": 4, "clock_rate": 2.5, "dpflops_per_cycle": 2, "static_power": 20, "dynamic_power": 3,
               "min_power": 0.05, "b": -1.85e-5, "c": 32000, "da": 1.75, "db": 2000, "dc": 50000, "dd": 6000},
        "p8": {"cores": "8", "clock_rate": "3.4GHz", "pa": 6.14211, "pb": 5.59316, "llc_size": 8},
    },
}  # fmt: skip


def write(folder: Path, document: object, name: str = "platform.json") -> Path:
    """A JSON file."""
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_layout(tmp_path: Path) -> None:
    """Keys name types, numbers default to 1, zero means none, both power forms and old clocks are understood."""
    platform = Platform.read(write(tmp_path, DOCUMENT))
    assert (platform.id, platform.contention_model, platform.power_model) == ("lab", "piecewise", "linear")
    assert platform.node_names() == [*(f"east.node{i}" for i in range(5)), "cluster1.node0"]
    thin, fat = platform.node_types
    assert (thin.name, thin.cores, thin.memory_gb) == ("thin", 8, 32)
    assert (fat.name, fat.cores, fat.memory_gb) == ("fat", 12, None)
    p4, p8 = platform.processor_types
    assert p4.ops_per_s == 5e9
    assert p4.power == {"static_w": 20, "dynamic_w": 3, "min_power": 0.05}
    assert p4.contention == {"b": -1.85e-5, "c": 32000, "da": 1.75, "db": 2000, "dc": 50000, "dd": 6000}
    assert (p8.cores, p8.clock_ghz, dict(p8.contention)) == (8, 3.4, {})
    assert p8.power == {"static_w": 5.59316, "dynamic_w": 6.14211, "min_power": 1.0}


def test_library_files_beside_the_platform(tmp_path: Path) -> None:
    """Types that the file lacks come from node_types.json and processor_types.json; its own go before theirs."""
    own_processor = {"p4": {**DOCUMENT["processor"]["p4"], "cores": 6}}
    write(tmp_path, {"_doc": {"0": "text"}, **DOCUMENT["node"]}, "node_types.json")
    write(tmp_path, DOCUMENT["processor"], "processor_types.json")
    platform = Platform.read(write(tmp_path, {"platform": DOCUMENT["platform"], "processor": own_processor}))
    assert platform.node_cores.tolist() == [12, 12, 14, 14, 14, 14]
    bare = Platform.read(write(tmp_path, DOCUMENT["platform"]["lab"], "bare.json"))
    assert bare.node_cores.tolist() == [8, 8, 12, 12, 12, 12]


def test_one_of_several_platforms(tmp_path: Path) -> None:
    """A file may describe several platforms; then one has to be named."""
    lab = DOCUMENT["platform"]["lab"]
    path = write(tmp_path, {**DOCUMENT, "platform": {"small": {"clusters": lab["clusters"][1:]}, "large": lab}})
    assert Platform.read(path, name="small").node_count == 1
    assert Platform.read(path, name="large").node_count == 6
    with pytest.raises(FormatError, match="one platform, or a name to choose by, found small, large"):
        Platform.read(path)
    with pytest.raises(FormatError, match="one of the platforms small, large, found medium"):
        Platform.read(path, name="medium")


def test_no_min_power_is_a_substitute_and_said(tmp_path: Path) -> None:
    """static_power without min_power: idle processors draw all of it, with a warning."""
    document = copy.deepcopy(DOCUMENT)
    del document["processor"]["p4"]["min_power"]
    with pytest.warns(ModelWarning, match=r"processor\.p4: no min_power"):
        platform = Platform.read(write(tmp_path, document))
    assert platform.processor_types[0].power["min_power"] == 1


# A change to the document (path of keys, new value), and what the message has to say.
WRONG: list[tuple[str, Any, str]] = [
    ("platform", {}, "platform: expected one platform, or a name to choose by, found none"),
    ("platform.lab", [], "platform.lab: expected a mapping"),
    ("platform.lab.model_name", "modelV2", "platform.lab.model_name: expected modelV1, the only supported one"),
    ("platform.lab.clusters", None, "platform.lab.clusters: expected a list"),
    ("platform.lab.clusters", [], "nodes: expected an integer from 1 to 10000000, found 0"),
    (
        "platform.lab.clusters.0.nodes.0.type",
        "thn",
        "lab.clusters[0].nodes[0].type: expected one of the node types thin",
    ),
    ("platform.lab.clusters.0.nodes.0.type", 5, "platform.lab.clusters[0].nodes[0].type: expected a valid string"),
    (
        "platform.lab.clusters.0.nodes.0.number",
        -1,
        "platform.lab.clusters[0].nodes[0].number: expected an integer from 0",
    ),
    ("platform.lab.clusters.0.nodes.0.number", True, "nodes[0].number: expected a valid integer"),
    ("platform.lab.clusters.0.nodes.0.number", 10**12, "nodes[0].number: expected an integer from 0 to 10000000"),
    ("platform.lab.clusters.1.id", "east", "different cluster ids, found 'east' twice"),
    ("platform.lab.clusters.0.number", 2, "different cluster ids, found 'east' twice"),
    ("platform.lab.clusters.1.number", 10**9, "clusters[1].number: expected an integer from 0"),
    ("node", [], "node: expected an object that maps names to descriptions, found list"),
    ("node.thin", {}, "node.thin: expected key 'processors'"),
    ("node.thin.processors", [], "node.thin.number of processors: expected an integer from 1"),
    ("node.thin.processors.0.type", "p44", "node.thin.processors[0].type: expected one of the processor types p4"),
    ("node.thin.processors.0.number", 10**9, "node.thin.processors[0].number: expected an integer from 0"),
    ("node.thin.processors.0.model", "Xeon", "node.thin.processors[0].model: expected IRMaSim's layout"),
    ("node.thin.memory.capacity", -5, "node.thin.memory.capacity: expected a finite non-negative number, found -5"),
    ("processor.p4", None, "processor.p4: expected a mapping"),
    ("processor.p4.cores", 0, "processor.p4.cores: expected an integer from 1 to 100000000, found 0"),
    ("processor.p4.cores", "many", "processor.p4.cores: expected a valid integer"),
    ("processor.p4.cores", 10**30, "processor.p4.cores: expected an integer from 1"),
    ("processor.p4.clock_rate", -1, "processor.p4.clock_rate: expected a finite positive number, found -1"),
    ("processor.p4.clock_rate", "fast", "processor.p4.clock_rate: expected a valid number"),
    ("processor.p4.clock_rate", "nan", "processor.p4.clock_rate: expected a finite positive number, found nan"),
    ("processor.p4.dpflops_per_cycle", 0, "processor.p4.dpflops_per_cycle: expected a finite positive number"),
    ("processor.p4.static_power", -1, "processor.p4.static_power: expected a finite non-negative number"),
    ("processor.p4.min_power", 2, "processor.p4.min_power: expected a fraction from 0 to 1, found 2"),
    ("processor.p4.b", 1, "processor.p4.b: expected a negative number, found 1"),
    ("processor.p4.dd", None, "processor.p4.contention: expected all of b, c, da, db, dc, dd, found no dd"),
    ("processor.p4.profile_version", 2, "processor.p4.profile_version: expected 1 or none (modelV1)"),
]


@pytest.mark.parametrize(("key", "value", "expected"), WRONG)
def test_wrong_values(tmp_path: Path, key: str, value: object, expected: str) -> None:
    """Each kind of wrong value is told in one line, in IRMaSim's words."""
    document = copy.deepcopy(DOCUMENT)
    *parents, last = (int(part) if part.isdigit() else part for part in key.split("."))
    entry: Any = document
    for parent in parents:
        entry = entry[parent]
    entry[last] = value
    path = write(tmp_path, document)
    with pytest.raises(FormatError) as caught:
        Platform.read(path)
    assert str(caught.value).startswith(str(path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_library_file_is_named(tmp_path: Path) -> None:
    """The message names the library file when that is where the mistake is."""
    library = write(tmp_path, {"thin": {"processors": 5}}, "node_types.json")
    with pytest.raises(FormatError) as caught:
        Platform.read(write(tmp_path, {"platform": {"x": {"clusters": [{"nodes": [{"type": "thin"}]}]}}}))
    assert str(caught.value).startswith(f"{library}: node.thin.processors: expected a list")


CORES = {
    "cases/irmasim/experiment1/platform.json": 12,
    "cases/irmasim/experiment2/platform.json": 104,
    "cases/irmasim/experiment3/platform.json": 1040,
    "cases/irmasim/experiment4-comp/platform.json": 432,
    "cases/irmasim/random-2/platform.json": 272,
    "cases/pcbe/scale-table-5.3/platform.json": 264,
    "cases/pcbe/table-5.1-row-1/platform.json": 8,
    "traces/irmasim_kit_platform_1984.json": 1984,
    "traces/irmasim_lublin_platform.json": 496,
}


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("name", CORES)
def test_published_platforms(shared: Path, name: str) -> None:
    """The platforms of the published experiments have the cores that their papers count."""
    assert Platform.read(shared / name).core_count == CORES[name]


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
def test_all_shared_platforms_survive_the_own_format(shared: Path, tmp_path: Path) -> None:
    """Every IRMaSim platform at hand reads, and reads back equal after conversion."""
    patterns = ("cases/irmasim/*/platform.json", "cases/pcbe/*/platform.json", "traces/irmasim_*platform*.json")
    paths = [path for pattern in patterns for path in shared.glob(pattern)]
    assert len(paths) > 20
    for path in paths:
        platform = Platform.read(path)
        platform.write(tmp_path / "own.yaml")
        assert Platform.read(tmp_path / "own.yaml") == platform


def test_published_platforms_with_meaningless_contention_warn(shared: Path) -> None:
    """The KIT platform's larger processors let dc - n·dd fall below zero from the ninth other task on."""
    with pytest.warns(ModelWarning) as caught:
        Platform.read(shared / "traces/irmasim_kit_platform_1984.json")
    told = sorted(str(warning.message) for warning in caught)
    assert len(told) == 6
    assert all(f"'proc_{cores}_" in told[i] for i, cores in enumerate((16, 16, 32, 32, 64, 64)))
    assert all("n = 9 other tasks" in message for message in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Platform.read(shared / "cases/irmasim/experiment3/platform.json")


def test_batsims_heterogeneous_layout_is_refused_clearly(shared: Path) -> None:
    """A related layout that is not IRMaSim's says so, instead of a riddle about missing keys."""
    with pytest.raises(FormatError, match=r"node_types\.json: .*Batsim's heterogeneous one is not supported yet"):
        Platform.read(shared / "cases/batsim-inputs/platforms/heterogeneous/altamira.json")
