"""Published placements of tasks that share GPUs, made again: Weng et al., "Beware of Fragmentation", USENIX ATC 2023.

``python -m studies.openb_study FOLDER``: tasks of the openb trace arrive one by one on its 1,213 nodes and stay for ever; one
that fits nowhere is dropped. FOLDER has the trace, the order of arrivals for each workload and seed, and the published curves:
``nodes.csv.gz``, ``pods-WORKLOAD.csv.gz``, ``orders.json.gz``, ``expected.csv.gz``. For every node order that is known by a
policy of that paper, the allocated and the fragmented share of all GPUs are compared with these curves, at each of the 131
whole per cents of requested GPUs. All is exact: CPUs are counted in steps of two thousandths.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
import pandas as pd

from cluster_sim import Platform, Workload
from cluster_sim.formats.gpu import openb
from cluster_sim.machine.units.fragmentation import TypicalJobs
from cluster_sim.platform import Cluster, NodeGroup
from cluster_sim.run.decisions import Start
from cluster_sim.run.view import View
from schedulers.gpu.node_orders import FragmentationGradientDescent
from schedulers.queue.orders import node_orders

MILLI = 2
"""Thousandths of a CPU that are a core here: the greatest with which nothing is rounded."""
ORDER_OF = {
    "FGD": "fgd",
    "BestFit": "best-fit",
    "DotProd": "dot-product",
    "GpuPacking": "packing",
    "GpuClustering": "clustering",
}
"""Node orders by the names of that paper's policies."""
WORKLOADS = ("default", "gpuspec33", "multigpu50", "gpushare100")
SEEDS = (42, 43, 44)


@dataclass(frozen=True)
class Arrivals:
    """The tasks of an experiment in the order of their arrival, and the machine, with the nodes that win ties first."""

    platform: Platform
    jobs: Workload
    typical: Workload  #: The tasks that the arrivals are drawn from.
    node_of: list[int]  #: Row in the list of nodes, of each node of the platform.

    @classmethod
    def read(cls, folder: Path, workload: str, seed: int, limit: int | None = None) -> Arrivals:
        """Read an experiment, or its first arrivals."""
        given = openb.read_nodes(str(folder / "nodes.csv.gz"), MILLI)
        with gzip.open(folder / "orders.json.gz") as file:
            orders = json.load(file)[workload][str(seed)]
        node_of = np.argsort(orders["nodes"]).tolist()
        groups = tuple(NodeGroup(given.node_types[given.type_of_node[node]], 1) for node in node_of)
        typical = openb.read(str(folder / f"pods-{workload}.csv.gz"), milli=MILLI)
        # In the file's order, which is that of the names; a workload is in the order of submission.
        by_name = np.argsort(typical.columns["job_id"].astype(str), kind="stable")
        rows = by_name[orders["pods"][:limit]]
        columns = {name: values[rows] for name, values in typical.columns.items()}
        columns |= {
            "job_id": np.array([str(row) for row in range(len(rows))], object),
            "submit_time": np.zeros(len(rows)),
        }
        platform = replace(given, clusters=(Cluster("openb", groups),))
        return cls(platform, Workload(columns), typical, node_of)


@dataclass(frozen=True)
class Placed:
    """What became of each arrival: the node (a row in the list of nodes, -1: dropped), and GPUs afterwards, in thousandths."""

    node: list[int]
    arrived: list[int]
    allocated: list[int]
    fragmented: list[float]


def place_all(arrivals: Arrivals, policy: str) -> Placed:
    """Place the tasks one after the other."""
    view = View.by_hand(arrivals.platform, arrivals.jobs)
    order = node_orders.make(ORDER_OF[policy])
    if isinstance(order, FragmentationGradientDescent):
        order.typical_of = arrivals.typical
    placed, arrived, allocated = Placed([], [], [], []), 0, 0
    for job, fragmented in zip(view.pending, _fragmentation(view, arrivals), strict=False):
        # What the last arrival has left.
        if placed.node:
            placed.fragmented.append(fragmented)
        asked = round(job.gpus * job.gpu_share * 1000.0)
        placement = view.place(job, order(view, job), memory=True)
        if placement is not None:
            view.apply(Start(job, placement))
            allocated += asked
        arrived += asked
        placed.node.append(-1 if placement is None else arrivals.node_of[placement.nodes[0]])
        placed.arrived.append(arrived)
        placed.allocated.append(allocated)
    placed.fragmented.append(next(_fragmentation(view, arrivals)))
    return placed


def _fragmentation(view: View, arrivals: Arrivals) -> Iterator[float]:
    """Yield the fragmentation of all nodes as they are, thousandths of a GPU; only those that changed are looked at."""
    typical, platform = TypicalJobs(arrivals.typical.columns), arrivals.platform
    accepted = typical.accepted_on(platform)
    of_node = np.zeros(platform.node_count)
    cores, left = np.full(platform.node_count, -1), np.zeros((platform.node_count, 1))
    while True:
        now, shares = view.free_cores, view.machine.unit_shares("gpu")
        fresh = np.flatnonzero((now != cores) | (shares != left).any(axis=1))
        cores, left = now.copy(), shares
        parts = np.rint(shares[fresh] * 1_000_000).astype(np.int64)
        of_node[fresh] = typical.fragmentation(now[fresh], parts, accepted[fresh])
        yield float(of_node.sum())


def curves(placed: Placed, gpus: int) -> tuple[dict[int, float], dict[int, float]]:
    """Return the allocated and the fragmented per cent of all GPUs, by the rounded per cent of requested ones."""
    everything = gpus * 1000.0
    allocated, fragmented = defaultdict[int, list[float]](list), defaultdict[int, list[float]](list)
    rows = zip(placed.arrived, placed.allocated, placed.fragmented, strict=True)
    for arrived, given, lost in rows:
        at = round(100.0 * arrived / everything)
        allocated[at].append(round(100.0 * given / everything, 2))
        fragmented[at].append(round(lost, 2))
    means = ({at: sum(some) / len(some) for at, some in each.items()} for each in (allocated, fragmented))
    shares, milli = means
    return (
        {at: round(value, 2) for at, value in shares.items()},
        {at: round(100.0 * value / everything, 2) for at, value in milli.items()},
    )


def published(folder: Path, workload: str, policy: str, seed: int, what: str) -> list[float]:
    """Return a published curve: its value at 0, 1, … per cent of requested GPUs."""
    table = pd.read_csv(folder / "expected.csv.gz")
    rows = table[(table["workload"] == workload) & (table["policy"] == policy) & (table["seed"] == seed)]
    return [float(value) for value in rows[rows["what"] == what]["curve"].iloc[0].split()]


def compared(found: dict[int, float], expected: Sequence[float]) -> tuple[int, float]:
    """Return at how many points a curve differs from the published one, and by how much at most."""
    differences = [abs(found[at] - value) for at, value in enumerate(expected) if at in found]
    return sum(each > 1e-9 for each in differences), max(differences)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--workload", multiple=True, default=WORKLOADS, show_default=True)
@click.option("--policy", multiple=True, default=tuple(ORDER_OF), show_default=True)
@click.option("--seed", multiple=True, type=int, default=SEEDS, show_default=True)
def main(folder: Path, workload: Sequence[str], policy: Sequence[str], seed: Sequence[int]) -> None:
    """Make the experiments again and compare the curves with the published ones."""
    made = equal = 0
    for of in workload:
        for number in seed:
            arrivals = Arrivals.read(folder, of, number)
            gpus = int(arrivals.platform.units_of("gpu").sum())
            for name in policy:
                began = time.process_time()
                placed = place_all(arrivals, name)
                told = []
                for what, curve in zip(("allocated", "fragmented"), curves(placed, gpus), strict=True):
                    points, most = compared(curve, published(folder, of, name, number, what))
                    told.append(f"{what}: {points} points differ" + (f", at most by {most:.2f}" if points else ""))
                made += 1
                equal += all(" 0 points" in each or "by 0.01" in each for each in told)
                seconds = time.process_time() - began
                dropped = f"{placed.node.count(-1)} of {len(placed.node)} dropped"
                click.echo(f"{of} {number} {name}: {dropped}; {'; '.join(told)}; {seconds:.1f} s")
    click.echo(f"{equal} of {made} runs reproduce both curves")
    raise SystemExit(equal < made)


if __name__ == "__main__":
    main()
