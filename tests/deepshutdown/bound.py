"""Could a wait beyond the bound of off-reservation have been avoided? A timeout of 0 tries, from the latest start on.

``python tests/deepshutdown/bound.py ../shared/cases/deepshutdown`` prints it for each of the 48 days (minutes).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from analysis.reproduce.deepshutdown.days import DAY_S, episode
from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.run import View
from cluster_sim.run.decisions import Offer, PowerDecision, SwitchOff
from schedulers import PowerPolicy
from schedulers.power.idle_timeout import idle_nodes
from schedulers.power.off_reservation import OffReservation

TAU = 0.5


class UntilLatestStart(OffReservation):
    """Off-reservation until the latest start of a job with this submission and request (s), then a timeout of 0."""

    def __init__(self, submit_time: float, requested_time: float):
        super().__init__(TAU)
        self._bound = submit_time + TAU * requested_time

    def _is_timeout(self, view: View) -> bool:
        return view.now >= self._bound - self._boot_s

    def reserve(self, view: View) -> Iterator[PowerDecision]:
        """Nothing is withheld any more."""
        if not self._is_timeout(view):
            yield from super().reserve(view)
        else:
            yield from (Offer(node) for node in np.flatnonzero(view.machine.withheld).tolist())

    def react(self, view: View) -> Iterator[PowerDecision]:
        """What the scheduler leaves idle goes off."""
        if not self._is_timeout(view):
            yield from super().react(view)
        else:
            yield SwitchOff(np.flatnonzero(idle_nodes(view)).tolist())


def starts(platform: Platform, day: Workload, power: PowerPolicy, until: float = DAY_S) -> np.ndarray:
    """When each job of a day starts, s; inf where it does not."""
    run = Simulation(platform, day, make_scheduler("saf-easy"), power, enforce_walltime=True, until=until).run()
    return run.jobs["start_time"].fillna(np.inf).to_numpy()


def broken(platform: Platform, day: Workload) -> tuple[int, int, int]:
    """How many jobs start later than their bound allows, of which a timeout of 0 all day, or from then on, would start in time.

    A job whose bound lies after the end of the day is not late.
    """
    jobs = day.jobs
    submitted, requested = jobs["submit_time"].to_numpy(), jobs["requested_time"].to_numpy()
    bound = submitted + TAU * requested
    late = (starts(platform, day, make_power_policy(f"off-reservation:{TAU}")) > bound) & (bound < DAY_S)
    in_time = starts(platform, day, make_power_policy("timeout:0")) <= bound
    avoidable = 0
    for row in np.flatnonzero(late).tolist():
        policy = UntilLatestStart(submitted[row], requested[row])
        avoidable += bool(starts(platform, day, policy, until=min(bound[row] + 1.0, DAY_S))[row] <= bound[row])
    return int(late.sum()), int((late & in_time).sum()), avoidable


def main(folder: Path) -> None:
    """A line for each day with late jobs, and the sums."""
    platform = Platform.read(folder / "platform_taurus_168cores.xml", time_unit="minutes")
    print("day          jobs  late  in time under timeout:0 …  … from the latest start on")
    rows = []
    for path in sorted((folder / "train_days").iterdir()):
        day = episode(Workload.read(path, time_unit="minutes"), platform)
        rows.append((len(day), *broken(platform, day)))
        if rows[-1][1]:
            print(f"{path.stem:12}", *rows[-1], sep="  ", flush=True)
    print(f"{len(rows)} days     ", *np.sum(rows, axis=0), sep="  ")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
