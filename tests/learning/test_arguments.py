"""Arguments of environments that are of a wrong kind end in one line that names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError
from learning.environments.job_choice import JobChoice
from learning.environments.job_node import JobNode
from learning.environments.node_shutdown import NodeShutdown
from learning.environments.policy_selection import PolicySelection


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (JobChoice, "extra"),
        (JobNode, "memory"),
        (JobNode, "merge_equal"),
        (NodeShutdown, "skip"),
        (PolicySelection, "blocking"),
        (PolicySelection, "memory"),
        (PolicySelection, "flat"),
    ],
)
@pytest.mark.parametrize("value", ["no", 0, 2.5])
def test_a_text_is_no_truth(kind: type, option: str, value: Any) -> None:
    """``extra="no"`` would count as true."""
    with pytest.raises(InputError, match=rf"{option}: expected True or False, found {value}"):
        kind(**{option: value})


@pytest.mark.parametrize("kind", [JobChoice, JobNode])
@pytest.mark.parametrize("value", [2.5, "8", None, True, 0, 10**9])
def test_jobs_are_counted_in_whole_numbers(kind: type, value: Any) -> None:
    """The number of visible jobs is one."""
    with pytest.raises(InputError, match="num_jobs: expected an integer from"):
        kind(num_jobs=value)
    assert kind(num_jobs=np.int64(8)).reset(seed=0)[1]["action_mask"].any()
