"""The study of what DeepShutdown's program does: each way alone, and all of them, which is the training as run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from cluster_sim.cli.commands.listing import registry_of
from cluster_sim.options import options_of
from cluster_sim.registry import Spec
from learning.algorithms.hyper_parameters import make_hyper_parameters
from learning.algorithms.ppo import PUBLISHED, PPOOptions
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.node_shutdown.observations import shutdown_observations
from learning.training.configuration import Config, read_config
from studies.as_run_study import CHANGES, CONTROL, FILES, over_seeds, training

INPUTS = Path("inputs")


def told(config: Config) -> dict[str, Any]:
    """All that can be another: what the agent sees and is rewarded for, its options, its network."""
    environment, algorithm = config.environment, config.algorithm
    published = PUBLISHED[algorithm.published] if algorithm.published else {}
    options = make_hyper_parameters(PPOOptions, published | algorithm.options, "options")
    facts = {name: getattr(options, name) for name in options_of(PPOOptions)}
    kept = {f"option {name}": value for name, value in environment.options.items()}
    return (
        facts
        | kept
        | {key: getattr(environment, key) for key in ("observation", "reward")}
        | {"network": config.network}
    )


def differing(changes: list[str]) -> set[str]:
    """What some changes make another than it is in the text."""
    text, changed = told(training([], INPUTS, 1, 16, 0)), told(training(changes, INPUTS, 1, 16, 0))
    return {name for name in text.keys() | changed.keys() if text.get(name) != changed.get(name)}


def test_every_way_changes_something_of_its_own() -> None:
    """No two ways change the same, and all together change what each changes."""
    each = {name: differing([name]) for name in CHANGES}
    assert all(each.values())
    assert sum(map(len, each.values())) == len(set().union(*each.values()))
    assert differing(list(CHANGES)) == set().union(*each.values())
    assert {name: differing([name]) for name in CONTROL} == {"scale": {"reward"}}


def test_all_ways_together_are_the_training_as_run() -> None:
    """What its file says beside them are the defaults."""
    ours, file = told(training(list(CHANGES), INPUTS, 1, 16, 0)), told(read_config(FILES / "deepshutdown-as-run.yaml"))
    unlike = {name for name in ours | file if ours.get(name) != file.get(name)}
    assert unlike == {"network", "observation", "option tau"}
    assert file["option tau"] == options_of(NodeShutdown)["tau"].default
    for registry, name in ((registry_of("networks"), "network"), (shutdown_observations, "observation")):
        said, also = Spec.parse(ours[name]), Spec.parse(file[name])
        defaults = {
            key: option.in_spec(option.default) for key, option in options_of(registry.factory(said.name)).items()
        }
        assert defaults | dict(said.options) == defaults | dict(also.options)


def test_rows_of_several_seeds_are_one() -> None:
    """Mean, least and greatest of each way, in the order of the ways."""
    rows = pd.DataFrame({"way": ["b", "a", "b"], "seed": [0, 0, 1], "better": [1.0, 5.0, 2.0]})
    table = over_seeds(rows)
    assert table.index.tolist() == ["b", "a"]
    assert table["better"].loc["b"].tolist() == [1.5, 1.0, 2.0]
