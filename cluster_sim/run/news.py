"""What policies learn of a run from one pass to the next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cluster_sim.read_only import ReadOnlyList
from cluster_sim.run.jobs.live_jobs import Spared

if TYPE_CHECKING:
    from cluster_sim.machine.hub import Hub
    from cluster_sim.machine.running import Running
    from cluster_sim.run.jobs.live_jobs import Suspended
    from cluster_sim.workload.jobs import Job


class News:
    """Lists of what happened since the last pass. All views of a run show the same; whoever holds the passes clears them.

    They are for policies to read: the simulation changes them by the methods of ``list``.
    """

    def __init__(self) -> None:
        self.submitted: ReadOnlyList[Job] = (
            ReadOnlyList()
        )  #: Jobs that joined the queue since the last scheduling pass.
        self.ended: ReadOnlyList[Running] = (
            ReadOnlyList()
        )  #: Jobs that gave their cores back since the last scheduling pass.
        #: Jobs that, since the last pass, went on after a suspension, or with other cores or another limit.
        self.resumed: ReadOnlyList[Running] = ReadOnlyList()
        #: Jobs that wait, at the end of a part, for what this pass decides of them.
        self.at_boundary: ReadOnlyList[Running] = ReadOnlyList()
        #: Who gave cores back since the power policy last reacted, and suspended jobs that left the memory of their nodes;
        #: empty if there is no power policy.
        self.vacated: ReadOnlyList[Running | Suspended | Spared] = ReadOnlyList()
        #: How much of the first four this pass has seen; None: all.
        self.seen: tuple[int, int, int, int] | None = None

    def follow(self, hub: Hub, for_power: bool) -> None:
        """Hear what happens; ``for_power``, there is a power policy."""
        hub.queued.append(partial(list.append, self.submitted))
        hub.vacated.append(partial(list.append, self.ended))
        if for_power:
            hub.vacated.append(partial(list.append, self.vacated))
            hub.guest_left.append(lambda held: list.append(self.vacated, Spared(held.placement)))

    def changes_jobs(self) -> None:
        """Note that this pass changes jobs that have begun: what that brings is news for the next one."""
        if self.seen is None:
            self.seen = len(self.submitted), len(self.ended), len(self.resumed), len(self.at_boundary)
