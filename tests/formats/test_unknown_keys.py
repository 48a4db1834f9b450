"""A misspelt key of another program's file is named, with the nearest known one; keys that change nothing are not."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Workload
from cluster_sim.cli.irmasim_options import settings
from cluster_sim.errors import FormatError, ModelWarning

PROCESSOR = {"cores": 4, "clock_rate": 2.5, "static_power": 6, "dynamic_power": 5, "min_power": 0.05}
IRMASIM = {
    "platform": {
        "p": {"id": "p", "global_links": [], "clusters": [{"id": "c", "nodes": [{"type": "n", "number": 4}]}]}
    },
    "node": {"n": {"id": "n", "processors": [{"type": "q"}], "memory": {"capacity": 32, "type": "DDR4"}}},
    "processor": {"q": {**PROCESSOR, "uarch": "Haswell", "llc_size": 20, "power": 95}},
}
BATSIM = {
    "nb_res": 4,
    "date": "today",
    "jobs": [{"id": "1", "subtime": 0, "walltime": 100, "res": 2, "profile": "a", "extra_data": {"x": 1}}],
    "profiles": {
        "a": {"type": "parallel_homogeneous", "cpu": 1e12, "com": 0},
        "b": {"type": "delay", "delay": 5, "np": 4},
    },
}
ELASTISIM = {
    "jobs": [
        {
            "type": "malleable", "submit_time": 0, "num_nodes_min": 1, "num_nodes_max": 4, "walltime": 60, "arguments": {},
            "application": {
                "on_init": [{"type": "idle", "name": "start", "delay": 5, "pattern": "uniform"}],
                "phases": [{"iterations": 4, "tasks": [{"type": "idle", "delay": 5, "pattern": "uniform"}]}],
            },
        }
    ]
}  # fmt: skip
XML = """<?xml version='1.0'?>
<platform version="4.1"><zone id="AS0" routing="Full">
  <host id="a" speed="100.0Mf,50.0Mf" pstate="0" core="4"><prop id="watt_per_state" value="30:100,20:90"/></host>
  <link id="l" bandwidth="1GBps" latency="1us"/>
  <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"><prop id="watt_off" value="5"/></cluster>
</zone></platform>
"""


def with_key(document: Any, path: tuple[Any, ...], old: str, new: str) -> Any:
    """A copy in which a key of the mapping at ``path`` is misspelt."""
    changed = copy.deepcopy(document)
    place = changed
    for step in path:
        place = place[step]
    place[new] = place.pop(old)
    return changed


def told(read: Any, path: Path) -> list[str]:
    """What reading a file warns of unknown keys, or what refuses it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            read(path)
        except FormatError as error:
            return [str(error)]
    return [str(warning.message) for warning in found if "passed over" in str(warning.message)]


def kept(tmp_path: Path, document: Any) -> Path:
    """A document in a file."""
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("read", "document"), [(Platform.read, IRMASIM), (Workload.read, BATSIM), (Workload.read, ELASTISIM)]
)
def test_right_files_are_read_without_a_word(tmp_path: Path, read: Any, document: Any) -> None:
    """Keys that the other program knows, and that change nothing here, are no surprise."""
    assert told(read, kept(tmp_path, document)) == []


@pytest.mark.parametrize(
    ("read", "document", "path", "old", "new"),
    [
        (Platform.read, IRMASIM, ("platform", "p", "clusters", 0, "nodes", 0), "number", "numbr"),
        (Platform.read, IRMASIM, ("platform", "p", "clusters", 0), "id", "idd"),
        (Platform.read, IRMASIM, ("node", "n"), "memory", "memry"),
        (Platform.read, IRMASIM, ("node", "n", "memory"), "capacity", "capacty"),
        (Platform.read, IRMASIM, ("processor", "q"), "static_power", "static_powr"),
        (Workload.read, BATSIM, (), "nb_res", "nb_re"),
        (Workload.read, BATSIM, ("jobs", 0), "walltime", "walltim"),
        (Workload.read, BATSIM, ("profiles", "a"), "cpu", "CPU"),
        (Workload.read, BATSIM, ("profiles", "a"), "com", "comm"),
        (Workload.read, ELASTISIM, ("jobs", 0), "walltime", "wall_time"),
        (Workload.read, ELASTISIM, ("jobs", 0, "application"), "on_init", "oninit"),
        (Workload.read, ELASTISIM, ("jobs", 0, "application", "phases", 0), "iterations", "iteratons"),
        (Workload.read, ELASTISIM, ("jobs", 0), "arguments", "argumnts"),
    ],
)
def test_a_misspelt_key_is_told_with_its_place_and_the_nearest_one(
    tmp_path: Path, read: Any, document: Any, path: tuple[Any, ...], old: str, new: str
) -> None:
    """None of these keys must stand, so without a word another platform, or other jobs, would be read."""
    (message,) = told(read, kept(tmp_path, with_key(document, path, old, new)))
    assert f"'{new}' in " in message
    assert f"(the nearest known key is '{old}')" in message
    assert not path or str(path[-1]) in message


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("pstate=", "pstat=", "'pstat' in host 'a' (the nearest known key is 'pstate')"),
        ("watt_per_state", "wat_per_state", "'wat_per_state' in host 'a' (the nearest known key is 'watt_per_state')"),
        ("watt_off", "watts_off", "'watts_off' in cluster 'c' (the nearest known key is 'watt_off')"),
        ("<link id", "<lnk id", "'lnk' in zone 'AS0' (the nearest known key is 'link')"),
        ("watt_off", "carbon_intensity", "'carbon_intensity' in cluster 'c'"),
    ],
)
def test_unknown_words_of_simgrid_are_told(tmp_path: Path, right: str, wrong: str, message: str) -> None:
    """Elements, attributes and properties; a property of a user's own is passed over with a word."""
    path = tmp_path / "machine.xml"
    path.write_text(XML)
    assert told(Platform.read, path) == []
    path.write_text(XML.replace(right, wrong, 1))
    (line,) = told(Platform.read, path)
    assert message in line


def test_irmasims_options_are_looked_at(tmp_path: Path) -> None:
    """A workload manager whose selection is misspelt would run as another one."""
    manager = {"type": "Heuristic", "job_selecton": "smallest", "resource_selection": "first"}
    options = {"platform_file": "p.json", "workload_file": "w.json", "workload_manager": manager}
    with pytest.warns(ModelWarning, match="'job_selecton' in workload_manager .*'job_selection'"):
        settings(options, str(tmp_path / "options.json"))


def test_many_unknown_keys_make_one_warning_that_is_not_long(tmp_path: Path) -> None:
    """Those that are near to known ones come first, the rest is counted."""
    job = BATSIM["jobs"][0]  # type: ignore[index]
    jobs = [job | {f"of_mine_{i}": 1 for i in range(20)} | {"walltim": 5}]
    (message,) = told(Workload.read, kept(tmp_path, BATSIM | {"jobs": jobs}))
    assert "passed over: 'walltim' in jobs[0]" in message
    assert message.endswith(" and 13 more")


def test_a_row_of_irmasims_csv_that_lost_a_cell_is_refused(tmp_path: Path) -> None:
    """Its other cells would stand under the columns before theirs."""
    path = tmp_path / "jobs.csv"
    path.write_text("id,subtime,ntasks,nodes,req_ops,ipc\n1,0,4,1,1e9,1\n2,4,1,3e9,1\n")
    with pytest.raises(FormatError, match="line 3: expected 6 cells, as in the header, found 5"):
        Workload.read(path)


def test_directives_of_an_swf_header_are_looked_at(tmp_path: Path) -> None:
    """Without MaxProcs the machine would be as wide as the widest job; what a log says besides is its own."""
    path = tmp_path / "log.swf"
    path.write_text("; Version: 2.2\n; MaxProc: 128\n; Weather: fine\n1 0 -1 10 2" + " -1" * 13 + "\n")
    (line,) = told(Workload.read, path)
    assert line.endswith("passed over: 'MaxProc' in line 2 of the header (the nearest known key is 'MaxProcs')")


def test_lines_above_a_native_table_are_looked_at(tmp_path: Path) -> None:
    """A misspelt attribute is named; a remark is none."""
    path = tmp_path / "jobs.csv"
    path.write_text("# orign_s: 5\n# made by: me\nsubmit_time,requested_cores,operations\n0,1,1e9\n")
    (line,) = told(Workload.read, path)
    assert line.endswith("passed over: 'orign_s' in line 1 (the nearest known key is 'origin_s')")
