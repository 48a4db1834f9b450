"""Inputs by name: of the demo, of our generators, and of the logs and other programs' cases in ../shared."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path

from cluster_sim import ModelWarning, Platform, Workload

from ..conformance.test_logs import read_pyss  # noqa: TID252 - `tests` is found by its own name only from the root
from .inputs import Inputs

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"

LOGS = {
    "kth": "KTH-SP2-1996-2.1-cln.swf.gz",
    "sdsc": "SDSC-SP2-1998_pyss_5K_sample.swf.gz",
    "lublin_256": "lublin_256.swf.gz",
}


@lru_cache(maxsize=8)
def read(name: str) -> Inputs:
    """The inputs that a name such as ``demo``, ``generated:PLATFORM|WORKLOAD`` or ``shared:log/kth`` stands for."""
    kind, _, rest = name.partition(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # what a file lacks is no matter of the run
        if kind == "demo":
            return _demo()
        if kind == "generated":
            platform, workload = rest.split("|")
            return Inputs(Platform.read(platform), Workload.read(workload))
        return _of_shared(*rest.split("/"))


def _demo() -> Inputs:
    from cluster_sim.cli.commands.demo import PLATFORM, PROFILES, REFERENCE_GFLOPS, WORKLOAD

    log = Workload.read(WORKLOAD, reference_gflops=REFERENCE_GFLOPS)
    return Inputs(Platform.read(PLATFORM), log.with_profiles(PROFILES, seed=0))


def _of_shared(kind: str, name: str) -> Inputs:
    cases = SHARED / "cases"
    if kind in ("irmasim", "pcbe"):
        folder = cases / kind / name
        return Inputs(Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json"))
    if kind == "pyss":
        return Inputs(Platform.homogeneous(nodes=100, cores=1), read_pyss(cases / "pyss" / name))
    if kind == "batsim":
        folder = cases / name
        platform = Platform.read(folder / "platform.xml.gz", max_hosts=32)
        return Inputs(platform, Workload.read(folder / "medium_late.json"))
    if kind == "day":
        folder = cases / "deepshutdown"
        platform = Platform.read(folder / "platform_taurus_168cores.xml", time_unit="minutes")
        return Inputs(platform, Workload.read(folder / "train_days" / name, time_unit="minutes"))
    workload = Workload.read(SHARED / "traces" / LOGS[name])
    return Inputs(Platform.homogeneous(workload.max_procs or 256, 1), workload.first(1000))
