"""Runs of lesson 14: the case ``three-users`` under Slurm's priorities, with weights of one's own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

from cluster_sim.errors import InputError, ModelWarning
from cluster_sim.examples import case
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.platform.hardware import is_count
from cluster_sim.records.result import Result

CONF = """\
ClusterName=lab
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityMaxAge=05:00:00
PriorityDecayHalfLife=7-0
NodeName=node1 CPUs=4
PartitionName=batch Nodes=ALL Default=YES
"""
"""Text of a slurm.conf without weights; priorities are computed every minute, and the age counts up to 5 h."""

ACCOUNTS = """\
Account|User|Share
physics||3
physics|ann|1
physics|bob|1
biology||1
biology|eve|1
"""
"""Shares as ``sacctmgr show assoc`` prints them: physics has three quarters of the machine, biology one."""

WEIGHTS = ("PriorityWeightAge", "PriorityWeightFairshare", "PriorityWeightJobSize")
LARGEST = 1_000_000


def run(weights: Mapping[str, int]) -> Result:
    """Run the case under EASY backfilling with the queue in the order of Slurm's priorities with these weights.

    Raises InputError for a key outside :data:`WEIGHTS`, or a weight that is no whole number from 0 to a million.
    """
    if not isinstance(weights, Mapping):
        raise InputError("weights", 'weights by key, such as {"PriorityWeightAge": 1000}', weights)
    for key, weight in weights.items():
        if key not in WEIGHTS:
            raise InputError("weights", f"keys of {', '.join(WEIGHTS)}", key)
        if not is_count(weight, LARGEST, 0):
            raise InputError(f"weights, {key}", f"a whole number from 0 to {LARGEST}", weight)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        conf, accounts = Path(folder, "slurm.conf"), Path(folder, "accounts.txt")
        conf.write_text(CONF + "".join(f"{key}={weight}\n" for key, weight in weights.items()))
        accounts.write_text(ACCOUNTS)
        scheduler = f"easy:order=multifactor:conf={conf}"
        # The warning says that schedulers other than Slurm's ignore keys of the file; this order follows those of CONF.
        warnings.simplefilter("ignore", ModelWarning)
        return case("three-users").run(scheduler, explain=True, accounts=read_accounts(str(accounts)))
