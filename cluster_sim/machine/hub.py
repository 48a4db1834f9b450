"""What happens on a machine and to its jobs, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cluster_sim.machine.running import Running
    from cluster_sim.platform.node_state import NodeState
    from cluster_sim.workload.jobs import Job


class Hub:
    """A list of functions for each kind of thing that happens. They are called at once, in their order.

    Who wants to hear of something puts a function into its list; who makes it happen calls those that are there. So neither
    has to know the other, and what nobody wants to hear costs nothing.
    """

    def __init__(self) -> None:
        #: Nodes have entered a state.
        self.nodes_changed: list[Callable[[Sequence[int], NodeState], object]] = []
        #: A node breaks down, for a reason. Each function says how many jobs that hold something of it are about to end.
        self.node_fails: list[Callable[[int, str], int]] = []
        #: A guest, or who else is no job, has given its cores back: by its request, or its allocation.
        self.guest_left: list[Callable[[Any], object]] = []
        #: A guest is about to move memory on a processor: jobs there have to be on the channel.
        self.memory_moves: list[Callable[[int], object]] = []
        #: A clock is about to change: work in progress has to be on the channels.
        self.clock_changes: list[Callable[[], object]] = []
        #: A job has arrived, or has come back, and was not rejected.
        self.submitted: list[Callable[[Job], object]] = []
        #: A job has joined the queue, for the first time or again.
        self.queued: list[Callable[[Job], object]] = []
        #: The tasks of a job have begun.
        self.started: list[Callable[[Job], object]] = []
        #: A job has given back its cores: it has ended, or is suspended.
        self.vacated: list[Callable[[Running], object]] = []
        #: A job is over, and recorded: it is completed, killed or rejected.
        self.over: list[Callable[[Job, str], object]] = []
