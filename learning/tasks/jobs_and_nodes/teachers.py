"""Teachers for JobsAndNodes: a scheduler and a timeout of idle nodes, which an agent can imitate before it learns by itself."""

from __future__ import annotations

from typing import Any

from cluster_sim.errors import SpecError
from cluster_sim.read_only import refill
from cluster_sim.run.decisions import Start
from cluster_sim.run.simulation import Simulation
from learning.tasks.jobs_and_nodes.decision_maker import StartsAndSleeps
from schedulers.backfilling.easy import EasyBackfilling
from schedulers.policy.policy import make_pair
from schedulers.power.idle_timeout import AlwaysOn, IdleTimeout
from schedulers.queue.list_scheduling import ListScheduler


class SchedulerAndTimeout:
    """Teacher that plays a scheduler and a timeout, ``easy:order=saf + timeout:300``, or all nodes on, ``easy + always-on``.

    The scheduler is asked anew at every decision what it would start first: EASY and list schedulers keep no memory of
    their own from pass to pass. If it starts nothing more, nodes that have been
    idle for the timeout go to sleep. The run is that of the two, if the timeout is 0 or one of the idle times at which
    the environment asks (``step_s`` times 1, 2, 4 …), ``patience`` is inf, no more than ``num_jobs`` jobs wait, and the
    order of nodes is the environment's and not random. With several promises (``depth``), pinned ones or ``memory``, EASY may
    start other jobs: it makes its promises anew whenever it is asked. A
    start that the environment does not offer is left out. Raises SpecError for other rules.
    """

    def __init__(self, spec: str):
        scheduler, power = make_pair(spec)
        if (
            type(scheduler) is not EasyBackfilling
            and not isinstance(scheduler, ListScheduler)
            or not isinstance(power, IdleTimeout | AlwaysOn)
        ):
            raise SpecError(f"teacher '{spec}'", "EASY or a list scheduler + a timeout, such as easy + timeout:300")
        if isinstance(scheduler, ListScheduler):
            scheduler.dynamic = True  # it may not rely on what is new
        self._scheduler = scheduler
        self._timeout = power.seconds if isinstance(power, IdleTimeout) else float("inf")

    def __call__(self, environment: Any, observation: object = None) -> int:
        """Return the action at the environment's present decision."""
        inner = getattr(environment, "unwrapped", environment)
        simulation: Simulation = inner.simulation
        maker: StartsAndSleeps = inner.maker
        view, mask = simulation.view, maker.mask(simulation.view)
        came = list(view.submitted)
        refill(simulation.news.submitted, view.pending)  # to it, all waiting jobs are new
        self._scheduler.begin(view)
        start = next((each for each in self._scheduler.schedule(view) if isinstance(each, Start)), None)
        refill(simulation.news.submitted, came)
        if start is not None:
            for action, job in enumerate(maker.visible(view)):
                if job is start.job and mask[action]:
                    return action
        awake = sum(view.now < since + self._timeout for since in maker.idle_since.values())
        rest = maker.num_jobs + awake
        return rest if mask[rest] else int(mask.argmax())
