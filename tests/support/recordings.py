"""Recorded runs of Slurm: the configuration, the accounts, and what happened to each job."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.slurm_accounts import sacctmgr_output
from cluster_sim import Platform
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.platform.accounts import Accounts
from cluster_sim.platform.slurm import SlurmMachine
from schedulers.slurm.job_request import Ask


@dataclass
class Recording:
    """One recorded run; ``jobs`` have what was asked for (``options``) and what happened, by id."""

    platform: Platform
    accounts: Accounts | None
    expected: dict[str, Any]
    plans: dict[str, Any]
    jobs: dict[str, dict[str, Any]]

    @property
    def slurm(self) -> SlurmMachine:
        """What the slurm.conf says."""
        assert self.platform.slurm is not None
        return self.platform.slurm


def read(folder: Path, scratch: Path) -> Recording:
    """The recording of a folder; ``scratch`` is for the accounts as sacctmgr prints them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        platform = Platform.read(str(folder / "slurm.conf"))
    accounts = None
    if (folder / "accounts.json").exists():
        text = sacctmgr_output(json.loads((folder / "accounts.json").read_text()))
        (scratch / "accounts.txt").write_text(text)
        accounts = read_accounts(str(scratch / "accounts.txt"))
    expected = json.loads((folder / "expected.json").read_text())
    asked = {job["id"]: job for job in json.loads((folder / "jobs.json").read_text())}
    jobs = {job["id"]: {**asked[job["id"].partition("_")[0]], **job} for job in expected["jobs"]}  # 7_2: of an array
    return Recording(platform, accounts, expected, json.loads((folder / "plans.json").read_text()), jobs)


def seconds(text: str) -> float:
    """``M:SS`` in whole minutes, s, as Slurm counts limits."""
    minutes, _, rest = str(text).partition(":")
    return 60.0 * math.ceil(int(minutes) + int(rest or 0) / 60)


def ask_of(key: int, job: dict[str, Any]) -> Ask:
    """The request of a recorded job."""
    options = job["options"]
    return Ask(
        key,
        job["id"],
        submit_time=job["submit"],
        user=job["user"],
        qos=options.get("qos", ""),
        partitions=tuple(str(options.get("partition", "")).split(",")),
        nice=int(options.get("nice", 0)),
        limit_s=seconds(options["time"]) if "time" in options else math.nan,
        min_nodes=int(str(options.get("nodes", 0)).partition("-")[0]),
        tasks=int(options.get("ntasks", 0)),
        tasks_per_node=int(options.get("ntasks-per-node", 0)),
    )
