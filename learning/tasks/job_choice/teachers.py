"""Teachers for JobChoice: job orders, from whose choices an agent can learn before it learns by itself."""

from __future__ import annotations

from typing import Any

from schedulers.queue.orders import job_orders, order_once


class FirstByOrder:
    """Teacher that chooses the first visible job by a job order, such as ``sjf``; of equals the oldest.

    In an episode in which two jobs never wait there is no choice, and the teacher returns 0. Raises SpecError for an
    unknown order.
    """

    def __init__(self, order: str):
        self._order = job_orders.make(order)
        self._simulation: Any = None

    def __call__(self, environment: Any, observation: object = None) -> int:
        """Return the action at the environment's present decision."""
        inner = getattr(environment, "unwrapped", environment)
        view = inner.simulation.view
        if inner.simulation is not self._simulation:
            self._simulation = inner.simulation
            self._key = order_once(view, self._order)
        keys = [(self._key(job, view.now), place) for place, job in enumerate(inner.maker.visible(view))]
        return min(keys, default=(0, 0))[1]
