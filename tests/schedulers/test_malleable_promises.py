"""The scheduler ``malleable`` keeps a promise before it withdraws any."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler


@pytest.mark.parametrize("promise", ["agreement", "steal", "common-pool"])
@pytest.mark.parametrize("size", ["min", "average"])
def test_a_promise_is_kept_when_nothing_runs_any_more(size: str, promise: str) -> None:
    """Job 0 ends at 250 s, when nothing else runs: job 1 starts on what it was promised, and job 2 in the same pass.

    By hand, with one start in a pass: job 0 starts on one node, and at 60 s gets the three others from its next part on.
    Its first part takes 200 s on one node, its second 50 s on four. Job 1 came at 110 s and was promised a node.
    """
    workload = Workload(
        {
            "submit_time": [0.0, 110.0, 120.0],
            "min_cores": [1, 1, 1],
            "requested_cores": [4, 2, 2],
            "max_cores": [4, 4, 2],
            "malleable": [True, True, True],
            "recorded_run_time": [100.0, 200.0, 50.0],  # 400, 400 and 100 core-seconds
            "parts": ["2", "2", "1"],
        }
    )
    scheduler = make_scheduler(f"malleable:size={size},promise={promise},slips=yes")
    platform = Platform.homogeneous(nodes=4, cores=1)
    result = Simulation(platform, workload, scheduler, quirks=["pass-after-each-event"]).run()
    assert result.jobs["finish_time"][0] == 250.0
    assert result.jobs["start_time"].tolist() == [0.0, 250.0, 250.0]
