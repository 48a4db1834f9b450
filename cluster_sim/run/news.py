"""What policies learn of a run from one pass to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cluster_sim.machine.guest_requests import Request
    from cluster_sim.machine.hub import Hub
    from cluster_sim.machine.running import Running
    from cluster_sim.run.jobs.live_jobs import Spared, Suspended
    from cluster_sim.workload.jobs import Job


class News:
    """Lists of what happened since the last pass. All views of a run show the same; whoever holds the passes clears them."""

    def __init__(self) -> None:
        self.submitted: list[Job] = []  #: Jobs that joined the queue since the last scheduling pass.
        self.ended: list[Running] = []  #: Jobs that gave their cores back since the last scheduling pass.
        #: Jobs that, since the last pass, went on after a suspension, or with other cores or another limit.
        self.resumed: list[Running] = []
        #: Jobs that wait, at the end of a part, for what this pass decides of them.
        self.at_boundary: list[Running] = []
        #: Who gave cores back since the power policy last reacted, and suspended jobs that left the memory of their nodes;
        #: empty if there is no power policy.
        self.vacated: list[Running | Request | Suspended | Spared] = []
        self._seen: tuple[int, ...] | None = None  # how much of the news this pass has seen; None: all

    def follow(self, hub: Hub, for_power: bool) -> None:
        """Hear what happens; ``for_power``, there is a power policy."""
        hub.queued.append(self.submitted.append)
        hub.vacated.append(self.ended.append)
        if for_power:
            hub.vacated.append(self.vacated.append)
            hub.guest_left.append(self.vacated.append)

    @property
    def _of_pass(self) -> tuple[list[Any], ...]:
        return self.submitted, self.ended, self.resumed, self.at_boundary

    def changes_jobs(self) -> None:
        """Note that this pass changes jobs that have begun: what that brings is news for the next one."""
        if self._seen is None:
            self._seen = tuple(map(len, self._of_pass))

    def pass_is_over(self) -> None:
        """Clear the news that the scheduler has seen."""
        if self._seen is None:
            self.submitted.clear()
            self.ended.clear()
            self.resumed.clear()
            self.at_boundary.clear()
            return
        # What this pass's own decisions brought, it has not seen: the next pass does.
        for news, seen in zip(self._of_pass, self._seen, strict=True):
            del news[:seen]
        self._seen = None
