"""Orders of jobs and of nodes: the two halves of list scheduling.

A job order is any function ``order(job, now) -> key``, least key first; the names and meanings of the published policies
(Herrera et al. 2021, Table II; López 2023, Table 4.1) are registered here, and the queue orders of batch systems. Ties go
to the job submitted first. An order whose keys change while a job waits says so in an attribute, ``order.dynamic = True``,
and is asked anew in every pass; one that is written with numpy, so that it also takes all jobs at once
(:class:`~cluster_sim.workload.jobs.JobColumns`), says ``order.by_column = True`` and is asked once for the whole queue. If its
keys change only now and then it has a number ``version``, another one whenever they have. One that has to follow a run has
a method ``in_run(view)``, which gives the order as it is there; and ``tell(job)``, if it has something to say of a key.

A node order is any function ``order(view, job) -> array`` with one key per node, least first; None stands for platform
order. Ties go to the node that comes first in the platform. An order that chooses nodes as a set returns a rule instead,
which gives the keys when it is known what the job could have on each node (:mod:`cluster_sim.platform.node_choice`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import numpy as np
from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.platform.node_choice import in_a_row, in_groups, one_switch_or_all, under_few_switches
from cluster_sim.registry import Registry
from cluster_sim.run.view import View

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.free import Order, SetRule
    from cluster_sim.workload.jobs import Job

JobOrder = Callable[["Job", float], Any]
NodeOrder = Callable[["View", "Job"], "Order"]
AnyOrder = TypeVar("AnyOrder", bound=NodeOrder)

AnyJobOrder = Annotated[str | Callable[..., Any], Doc("order of the queue: the name of a job order")]
AnyNodeOrder = Annotated[str | Callable[..., Any], Doc("order in which nodes are taken: the name of a node order")]
Memory = Annotated[bool, Doc("nodes must have room for a job's memory, too")]
Aging = Annotated[float, Ge(0), Unit("s"), Doc("wait after which a job goes before all others")]

job_orders: Registry[Any] = Registry("job order", "cluster_sim.job_orders", arguments=2)
node_orders: Registry[Any] = Registry("node order", "cluster_sim.node_orders", arguments=2)


def _job_order(*names: str, dynamic: bool = False) -> Callable[[JobOrder], JobOrder]:
    """Register a plain key function; ``Registry`` stores factories."""

    def decorate(order: JobOrder) -> JobOrder:
        def factory() -> JobOrder:
            return order

        factory.__doc__ = order.__doc__
        for name in names:
            job_orders.register(name)(factory)
        order.dynamic = order.by_column = dynamic  # type: ignore[attr-defined]
        order.spec = names[0]  # type: ignore[attr-defined]
        return order

    return decorate


def _node_order(name: str) -> Callable[[AnyOrder], AnyOrder]:
    def decorate(order: AnyOrder) -> AnyOrder:
        def factory() -> AnyOrder:
            return order

        factory.__doc__ = order.__doc__
        node_orders.register(name)(factory)
        order.spec = name  # type: ignore[attr-defined]
        return order

    return decorate


def name_of(order: str | JobOrder | NodeOrder) -> str:
    """Return the name of an order as it stands in a scheduler's spec."""
    return order if isinstance(order, str) else getattr(order, "__name__", type(order).__name__)


def aged(order: JobOrder, seconds: float) -> JobOrder:
    """Return the order in which jobs that have waited that long go before all others, in order of submission.

    Then no job starves, whatever the order, if the head of the queue may not be delayed.
    """

    def key(job: Job, now: float) -> Any:
        return (0, job.submit_time) if job.submit_time + seconds <= latest(now) else (1, order(job, now))

    key.dynamic = True  # type: ignore[attr-defined]
    key.tell = lambda job: told_by(order, job)  # type: ignore[attr-defined]
    return key


def told_by(order: JobOrder, job: Job) -> str:
    """Return what an order says of a waiting job's key; empty: nothing."""
    tell = getattr(order, "tell", None)
    return "" if tell is None else str(tell(job))


def _bound(view: View, order: JobOrder) -> JobOrder:
    """Return an order that follows a run as it is in this one; any other as it is."""
    in_run: Callable[[View], JobOrder] | None = getattr(order, "in_run", None)
    return order if in_run is None else in_run(view)


def order_in(view: View, order: JobOrder, aging: float = math.inf) -> JobOrder:
    """Return an order as it is in a run: with the run's random numbers and with ageing, if there are any."""
    order = _bound(view, order)
    if cast("object", order) is Random:

        def order(job: Job, now: float) -> float:
            return float(view.rng.random())

    return aged(order, aging) if aging < math.inf else order


def order_once(view: View, order: JobOrder) -> JobOrder:
    """Return an order as it is in a run, for code that asks for keys again: a random key is drawn once for each job.

    It does not depend on which jobs are asked about, nor when.
    """
    if cast("object", order) is not Random:
        return _bound(view, order)
    seed = int(view.rng.integers(2**62))

    @cache
    def key(index: int) -> float:
        return float(np.random.default_rng((seed, index)).random())

    return lambda job, now: key(job.index)


# ---------------------------------------------------------------------- jobs


class Random:
    """Marks the random job order: a key drawn at submission, from the run's seed."""


@job_orders.register("random")
def random_jobs() -> type[Random]:
    """Any job, drawn with the run's seed."""
    return Random


@_job_order("first", "fcfs")
def first(job: Job, now: float) -> float:
    """Earliest submission first."""
    return job.submit_time


@_job_order("shortest", "sjf")
def shortest(job: Job, now: float) -> float:
    """Least requested time first."""
    return job.requested_time


@_job_order("longest", "ljf")
def longest(job: Job, now: float) -> float:
    """Most requested time first."""
    return -job.requested_time


@_job_order("smallest")
def smallest(job: Job, now: float) -> float:
    """Fewest requested cores first."""
    return job.requested_cores


@_job_order("low_mem")
def low_mem(job: Job, now: float) -> float:
    """Least requested memory first."""
    return job.memory


@_job_order("low_mem_ops")
def low_mem_ops(job: Job, now: float) -> float:
    """Least memory volume first."""
    return job.mem_vol


@_job_order("low_mem_bw")
def low_mem_bw(job: Job, now: float) -> float:
    """Least requested memory bandwidth first: memory volume over requested time (Herrera et al. 2021)."""
    return job.mem_vol / job.requested_time if job.requested_time > 0.0 else float("inf")


@_job_order("saf")
def saf(job: Job, now: float) -> float:
    """Smallest area first: least requested time times requested cores (Carastan-Santos et al. 2019)."""
    return job.requested_time * job.requested_cores


@_job_order("f1")
def f1(job: Job, now: float) -> float:
    """F1 of Carastan-Santos and de Camargo (2017): least log10(r)·n + 870·log10(s).

    n are the requested cores, r the requested time and s the time of submission, both in s and at least 1.
    """
    return math.log10(max(job.requested_time, 1.0)) * job.requested_cores + 870.0 * math.log10(
        max(job.submit_time, 1.0)
    )


@_job_order("edf")
def edf(job: Job, now: float) -> float:
    """Earliest deadline first (Jackson 1955); jobs without a deadline last."""
    return job.deadline


@_job_order("priority")
def priority(job: Job, now: float) -> float:
    """Highest priority first."""
    return -job.priority


@_job_order("wfp", dynamic=True)
def wfp(job: Job, now: float) -> float:
    """WFP3 of Tang et al. (2009): most n·(wait / r)³, which favours wide jobs and jobs that wait long for their length.

    n are the requested cores, r the requested time, at least 1 s.
    """
    waits = (now - job.submit_time) / np.maximum(job.requested_time, 1.0)
    return -(waits**3) * job.requested_cores  # type: ignore[no-any-return]


@_job_order("unicef", dynamic=True)
def unicef(job: Job, now: float) -> float:
    """UNICEF of Tang et al. (2009): most wait / (r·log2 n), which favours small jobs.

    n are the requested cores, at least 2, for the logarithm of 1 is 0; r the requested time, at least 1 s.
    """
    width = np.log2(np.maximum(job.requested_cores, 2))
    return -(now - job.submit_time) / (width * np.maximum(job.requested_time, 1.0))  # type: ignore[no-any-return]


@_job_order("expansion-factor", dynamic=True)
def expansion_factor(job: Job, now: float) -> float:
    """Largest expansion factor first, (wait + r) / r, r being the requested time, at least 1 s (Feitelson et al. 1997)."""
    return -(now - job.submit_time) / np.maximum(job.requested_time, 1.0)  # type: ignore[no-any-return]


job_orders.register_later(
    "multifactor",
    "schedulers.slurm.priority.queue_order",
    "multifactor",
    "Slurm's multifactor priority, highest first, by the platform's slurm.conf or another: multifactor:conf=FILE.",
)

job_orders.register_later(
    "powers",
    "schedulers.queue.power_law_orders",
    "powers",
    "Least r^a · n^b · (1 + w)^c · u^d first, of time, cores, wait, user's usual time: powers:A:B:C:D; powers:1:1 is saf.",
)

# ---------------------------------------------------------------------- nodes


@_node_order("first")
def platform_order(view: View, job: Job) -> npt.NDArray[np.float64] | None:
    """Platform order (with the quirk ``textual-node-order``: order of the names as text)."""
    return view.machine.textual_rank if "textual-node-order" in view.planning.quirks else None


def ranking(view: View, order: NodeOrder) -> NodeOrder | None:
    """Return the order, or None if it is the platform's own, which costs nothing where it is not worked out."""
    return None if order is platform_order and "textual-node-order" not in view.planning.quirks else order


for _name, _class, _meaning in (
    ("best-fit", "BestFit", "Least cores and GPUs left, each measured by the node that has most."),
    ("dot-product", "DotProduct", "Least product of what is free and what the job asks for, of cores and GPUs."),
    ("packing", "Packing", "GPUs in use before idle ones, idle ones of nodes in use before idle nodes."),
    ("clustering", "Clustering", "Nodes whose jobs have as many GPUs, or share one, too."),
    ("fgd", "FragmentationGradientDescent", "Least growth of the fragmentation of GPUs (Weng et al. 2023)."),
):
    node_orders.register_later(_name, "schedulers.gpu.node_orders", _class, _meaning)


@_node_order("random")
def random_nodes(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Any node, drawn with the run's seed."""
    return view.rng.random(view.platform.node_count)


@_node_order("high_gflops")
def high_gflops(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Highest peak rate per core, averaged over the node's processors."""
    return -view.machine.node_gflops


@_node_order("current_gflops")
def current_gflops(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Highest rate that the node's running tasks reach now, summed over its tasks (Herrera et al. 2021)."""
    return -view.machine.current_gflops()


@_node_order("high_cores")
def high_cores(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Most free cores."""
    return -view.free_cores.astype(np.float64)


@_node_order("low_cores")
def low_cores(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Fewest free cores (best fit)."""
    return view.free_cores.astype(np.float64)


@_node_order("high_mem")
def high_mem(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Most memory available now: capacity less what running tasks occupy, unknown capacities counting as equal."""
    capacity = view.machine.memory_capacity
    known = capacity[np.isfinite(capacity)]
    largest_known = float(known.max()) if len(known) else 0.0
    return view.machine.memory_used - np.where(np.isfinite(capacity), capacity, largest_known)


@_node_order("most_used_mem")
def most_used_mem(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Most memory in use now, which packs: what the program behind López (2023) does under the name ``high_mem``."""
    return -view.machine.memory_used


@_node_order("total_mem")
def total_mem(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Most memory, whether in use or not (Herrera et al. 2021)."""
    return -view.machine.memory_capacity


@_node_order("high_mem_bw")
def high_mem_bw(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Least memory bandwidth asked for by the tasks that run there."""
    return view.machine.demand


@_node_order("free_mem_bw")
def free_mem_bw(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Most memory bandwidth left before tasks slow each other (Herrera et al. 2021)."""
    return view.machine.demand - view.machine.node_bandwidth


@_node_order("low_power")
def low_power(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Least maximum power of the node (with the quirk ``low-power-means-high``: most)."""
    return (
        -view.machine.node_max_watts if "low-power-means-high" in view.planning.quirks else view.machine.node_max_watts
    )


@_node_order("current_watts")
def current_watts(view: View, job: Job) -> npt.NDArray[np.float64]:
    """Least power drawn by the node now (Herrera et al. 2021)."""
    return view.machine.node_watts()


@_node_order("in-a-row")
def neighbours(view: View, job: Job) -> SetRule:
    """The shortest run of neighbours that holds the job, else the longest ones: Slurm's choice without a topology."""
    return in_a_row


@_node_order("fewest-switches")
def fewest_switches(view: View, job: Job) -> SetRule:
    """The leaf switch that the job fills best, else few of them that are near: Slurm's topology/tree."""
    return partial(under_few_switches, view.platform.switch_tree)


@_node_order("one-switch-or-all")
def dragonfly(view: View, job: Job) -> SetRule:
    """The leaf switch with most free nodes if it holds the job, else a node of each in turn: Slurm's TopologyParam=Dragonfly."""
    return partial(one_switch_or_all, view.platform.switch_tree)


@_node_order("group-packing")
def group_packing(view: View, job: Job) -> SetRule:
    """The fullest group of switches that holds the job, else whole groups and best fit for the rest."""
    return partial(in_groups, view.platform.switch_tree)
