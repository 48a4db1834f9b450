"""Names for people."""

from __future__ import annotations

import pytest

from analysis.tables import display_names as names
from analysis.tables.display_names import display_name
from cluster_sim.registry import Registry
from cluster_sim.workload.workload import WORKLOAD_GENERATORS
from schedulers.policy.policy import power_policies, schedulers
from schedulers.queue.orders import job_orders, node_orders


@pytest.mark.parametrize(
    ("registry", "titles"),
    [
        (schedulers, names.SCHEDULERS),
        (power_policies, names.POWER_POLICIES),
        (job_orders, names.JOB_ORDERS),
        (node_orders, names.NODE_ORDERS),
        (WORKLOAD_GENERATORS, names.WORKLOADS),
    ],
    ids=lambda each: each.kind if isinstance(each, Registry) else "",
)
def test_everything_that_the_toolkit_brings_has_a_title(registry: Registry[object], titles: dict[str, str]) -> None:
    """A new scheduler, policy or order needs one, and no title is left of what is gone."""
    assert sorted(titles) == [name for name in registry if registry._is_built_in(name)]


def test_names_of_files_stay() -> None:
    """A log called ``slurm`` and a platform called ``mixed`` are no schedulers."""
    assert display_name("slurm", titles=names.WORKLOADS) == "slurm"
    assert display_name("mixed", titles=names.PLATFORMS) == "mixed"
    assert display_name("lublin:jobs=9", titles=names.WORKLOADS) == "Lublin's model, jobs: 9"
    assert display_name("homogeneous", titles=names.PLATFORMS) == "equal nodes"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fcfs", "FCFS"),
        ("easy:nodes=free_mem_bw", "EASY backfilling, nodes: most free memory bandwidth"),
        ("easy:order=sjf,backfill=saf,depth=2", "EASY backfilling, shortest first, backfilled smallest area first, depth: 2"),
        ("list:smallest/most_used_mem,blocking=no", "List scheduling, smallest first, nodes: most memory in use, no blocking"),
        ("conservative:replan=yes", "Conservative backfilling, replan"),
        ("easy + timeout:300", "EASY backfilling + idle nodes off after 5 min"),
        ("fcfs + power-cap:1500", "FCFS + at most 1.5 kW"),
        ("easy + timeout", "EASY backfilling + idle nodes off"),
        ("learned:agents/kit-energy,sample=yes", "Agent kit-energy, sample"),
        ("learned:'my agents/kit-energy'", "Agent kit-energy"),
        ("slurm:conf=/etc/slurm/slurm.conf", "Slurm, conf: slurm.conf"),
        ("easy (2)", "EASY backfilling (2)"),
        ("fcfs + power-cap:watts=400", "FCFS + at most 400 W"),
        ("fcfs + keep-ready", "FCFS + idle nodes kept on"),
        ("fcfs + keep-ready:2", "FCFS + 2 idle nodes kept on"),
        ("fcfs + timeout:seconds=60", "FCFS + idle nodes off after 1 min"),
        ("fcfs + power-cap", "FCFS + power cap"),
        ("machine", "machine"),
        ("my own run", "my own run"),
        ("mine.py:Mine,depth=2", "mine.py:Mine,depth=2"),
        ("a:b=1,b=2", "a:b=1,b=2"),
        ("", ""),
    ],
)  # fmt: skip
def test_specs_in_words(text: str, name: str) -> None:
    """Options that are orders have the orders' names; what is no spec of ours stays as it is."""
    assert display_name(text) == name


def test_names_are_as_short_as_tells_them_apart() -> None:
    """Options are named where runs differ in them; ``fcfs`` and ``first`` order jobs alike, and stay specs."""
    found = names.display_names(["easy:nodes=high_cores", "conservative", "fcfs", "fcfs:blocking=yes"])
    assert list(found.values()) == [
        "EASY backfilling", "Conservative backfilling", "FCFS", "FCFS, blocking",
    ]  # fmt: skip
    alike = ["list:first/first", "list:fcfs/first"]
    assert names.display_names([*alike, "list:saf/first"]) == {
        **{spec: spec for spec in alike},
        "list:saf/first": "List scheduling, smallest area first, nodes: as the platform lists them",
    }


def test_of_list_schedulers_only_the_orders_are_named() -> None:
    """A name has the orders alone. Two orders may have one name: then the specs stand behind it."""
    specs = ["easy", "list:saf/first", "list:first/random", "list:fcfs/random"]
    assert list(names.names_of_factor("scheduler", specs).values()) == [
        "EASY backfilling",
        "Smallest area first, nodes: as the platform lists them",
        "First come first (first), nodes: at random",
        "First come first (fcfs), nodes: at random",
    ]
    assert names.names_of_factor("scheduler", ["list:saf/first"]) == {"list:saf/first": "List scheduling"}
    assert names.names_of_factor("power_policy", ["timeout:0"]) == {"timeout:0": "idle nodes off at once"}
    assert names.names_of_factor("load", ["0.5"]) == {"0.5": "0.5"}
