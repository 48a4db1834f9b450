"""Arguments of environments that are of a wrong kind end in one line that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError, SpecError
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


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: JobNode(wait=True), "JobNode, wait: expected no, event, completion, or 0.001 s or more, found True"),
        (lambda: NodeShutdown(patience="1"), "node-shutdown, option patience: expected a number above 0, found 1"),
        (lambda: NodeShutdown(step_s=True), "node-shutdown, option step_s: expected a number above 0, found True"),
        (lambda: NodeShutdown(step_s=np.inf), "node-shutdown, option step_s: expected a finite number above 0"),
        (lambda: JobChoice(reward="wait:scale=inf"), "option scale: expected a finite number above 0, found inf"),
        (lambda: JobNode().reset(options={"episod": None}), "reset, options: expected only 'episode', found episod"),
        (lambda: NodeShutdown().reset(options=["episode"]), "reset, options: expected a mapping such as .*, found"),
        (lambda: JobNode().reset(options={"episode": "x"}), "reset, option episode: expected an episode, .* found x"),
    ],
)
def test_what_is_no_number_and_no_episode(make: Callable[[], Any], told: str) -> None:
    """Values that would count as others, or end in an error of Python's."""
    with pytest.raises((InputError, SpecError), match=told):
        make()


@pytest.mark.parametrize("kind", [JobChoice, JobNode])
@pytest.mark.parametrize("value", [2.5, "8", None, True, 0, 10**9])
def test_jobs_are_counted_in_whole_numbers(kind: type, value: Any) -> None:
    """The number of visible jobs is one."""
    with pytest.raises(InputError, match="num_jobs: expected an integer from"):
        kind(num_jobs=value)
    assert kind(num_jobs=np.int64(8)).reset(seed=0)[1]["action_mask"].any()
