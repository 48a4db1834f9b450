"""One workload of malleable jobs under four schedulers: as they were requested, chosen at the start, and changed on the way."""

from __future__ import annotations

from cluster_sim import Platform, Simulation, Workload, make_scheduler

JOBS = 40
SCHEDULERS = ("fcfs", "moldable", "shrink-expand", "equipartition")


def workload() -> Workload:
    """A job every two minutes, of 4 to 8 cores on request; each runs on half to twice of that, with 5 % of serial work."""
    cores = [4 + 4 * (number % 2) for number in range(JOBS)]
    return Workload(
        {
            "submit_time": [120.0 * number for number in range(JOBS)],
            "requested_cores": cores,
            "recorded_run_time": [300.0 + 60.0 * (number % 7) for number in range(JOBS)],
            "min_cores": [count // 2 for count in cores],
            "max_cores": [count * 2 for count in cores],
            "malleable": [True] * JOBS,
            "speedup": ["amdahl:0.05"] * JOBS,
            "reconfiguration_time": [5.0] * JOBS,
        }
    )


def main() -> None:
    """Print what becomes of them."""
    print("scheduler      mean wait  mean turnaround  utilisation")
    for spec in SCHEDULERS:
        summary = Simulation(Platform.homogeneous(nodes=20, cores=1), workload(), make_scheduler(spec)).run().summary()
        wait, turnaround = summary["mean_wait_s"], summary["mean_turnaround_s"]
        print(f"{spec:13}  {wait:7.0f} s  {turnaround:13.0f} s  {summary['utilisation']:11.3f}")


if __name__ == "__main__":
    main()
