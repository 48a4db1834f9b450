"""Damaged files of every format: read, or refused in one line; never anything else."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import pytest

from cluster_sim import InputError, Platform, Workload

ROUNDS = 300
GAIA = Path(__file__).resolve().parents[2] / "cluster_sim" / "data" / "gaia.yaml"

SWF = "; MaxProcs: 8\n" + "".join(
    f"{i} {3 * i} -1 {10 + i} {1 + i % 4} -1 -1 {1 + i % 4} {20 + i} -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 12)
)
CSV = "job_id,submit_time,requested_cores,operations,phases\na,0,1,1e9,\nb,5,2,2e9,1:1 2:3\n"
IRMASIM_JOBS = {
    "jobs": [
        {"id": "a", "subtime": 0, "res": 4, "profile": "A"},
        {"subtime": 5, "ntasks": 4, "nodes": 2, "req_ops": 1e9},
    ],
    "profiles": {"A": {"req_ops": 1e10, "ipc": 1, "req_time": 5.5, "mem": 100, "mem_vol": 1}},
}
BATSIM_JOBS = {
    "nb_res": 4,
    "jobs": [{"id": "1", "subtime": 1, "walltime": 100, "res": 4, "profile": "delay"}],
    "profiles": {
        "delay": {"type": "delay", "delay": 20.2},
        "work": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
    },
}
IRMASIM_PLATFORM = {
    "platform": {"p": {"id": "p", "clusters": [{"id": "c", "nodes": [{"type": "n", "number": 2}]}]}},
    "node": {"n": {"id": "n", "processors": [{"type": "q"}], "memory": {"capacity": 32}}},
    "processor": {
        "q": {
            "cores": 4,
            "clock_rate": 2.5,
            "dpflops_per_cycle": 1,
            "static_power": 6,
            "dynamic_power": 5,
            "min_power": 0.05,
        }
    },
}
SIMGRID = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="AS0" routing="Full">
  <host id="a" speed="100.0Mf,50.0Mf" pstate="0"><prop id="watt_per_state" value="30.0:30.0:100.0,20.0:20.0:90.0"/></host>
  <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/>
</zone></platform>
"""

SAMPLES = {
    "log.swf": SWF.encode(),
    "jobs.csv": CSV.encode(),
    "irmasim.json": json.dumps(IRMASIM_JOBS, indent=1).encode(),
    "batsim.json": json.dumps(BATSIM_JOBS, indent=1).encode(),
    "platform.json": json.dumps(IRMASIM_PLATFORM, indent=1).encode(),
    "machine.xml": SIMGRID.encode(),
    "gaia.yaml": GAIA.read_bytes(),
}
FRAGMENTS = [
    b"nan", b"1e400", b"-1", b"{", b"}", b"[", b'"', b"null", b"\xff\xfe", b"\x00", b"9" * 400, b"<", b">", b"&x;", b":",
    b"\n", b",", b"true", b"\r", b"- ", b"&a *a", b"\xc2\xb2",
]  # fmt: skip


def damaged(sample: bytes, rng: random.Random) -> bytes:
    """The sample after a few insertions, deletions, replacements and cuts."""
    content = bytearray(sample)
    for _ in range(rng.choice([1, 1, 2, 4, 10])):
        place, what = rng.randrange(len(content) + 1), rng.random()
        if what < 0.4:
            content[place:place] = rng.choice(FRAGMENTS)
        elif what < 0.6:
            del content[place : place + rng.randrange(1, 30)]
        elif what < 0.8:
            content[place : place + rng.randrange(8)] = rng.choice(FRAGMENTS)
        elif what < 0.9 and place < len(content):
            content[place] = rng.randrange(256)
        else:
            content = content[:place]
    return bytes(content)


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    """300 damaged files of each format, each read as a workload and as a platform: 4,200 readings in all."""
    rng = random.Random(name)
    path = tmp_path / name
    path.write_bytes(SAMPLES[name])
    reads = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(ROUNDS):
            path.write_bytes(damaged(SAMPLES[name], rng))
            for read in (Workload.read, Platform.read):
                try:
                    read(str(path))
                    reads += 1
                except InputError as error:
                    assert "\n" not in str(error)
    assert reads < 2 * ROUNDS  # damage was done


@pytest.mark.parametrize("name", SAMPLES)
def test_whole_samples_are_read(tmp_path: Path, name: str) -> None:
    """Undamaged, each sample is a workload or a platform."""
    path = tmp_path / name
    path.write_bytes(SAMPLES[name])
    read = Workload.read if name in ("log.swf", "jobs.csv", "irmasim.json", "batsim.json") else Platform.read
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read(str(path))
