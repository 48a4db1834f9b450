"""Agents that a reproduction trains itself, from the files in ``examples/training``, with the inputs where they lie.

A training is left in ``DIR/agents`` and gone on with where it was interrupted. With ``--quick`` it is a matter of seconds:
a few iterations of one seed, which show that everything works and teach an agent next to nothing. What it then falls
short of is not held against the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from analysis.reproduce.paper import Measured, ReproductionSetting

if TYPE_CHECKING:
    from learning.training.configuration import Config

FILES = Path(__file__).parents[2] / "examples" / "training"
"""Folder of configurations: part of the sources, not of an installed package."""
FOLDERS = ("cases", "traces")
"""Folders of the inputs: a path that a configuration names is looked for there, from these names on."""
QUICK = {"iterations": 2, "episodes": 4, "teacher_episodes": 2, "epochs": 3}


@dataclass(frozen=True)
class AgentTraining:
    """Training of agents.

    Attributes
    ----------
    file : the configuration.
    environment : keys of its environment that are to be others.
    quick : a few iterations of one seed only.
    needs : files and folders that it reads, relative to the folder of inputs.
    most : keys of the configuration of which there are at most so many, whatever the file says: seeds, iterations.
    options : options of its algorithm that are to be others.
    network : spec of a network that it is to have; "": the file's.
    """

    file: str
    environment: Mapping[str, Any]
    quick: bool
    needs: tuple[str, ...] = ()
    most: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    network: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the training as an argument of a part."""
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> AgentTraining | None:
        """Return the training that :meth:`as_json` wrote."""
        return None if document is None else cls(**dict(document))


def training_of(
    name: str,
    environment: Mapping[str, Any],
    setting: ReproductionSetting,
    most: Mapping[str, int] | None = None,
    options: Mapping[str, Any] | None = None,
    network: str = "",
) -> AgentTraining | None:
    """Return the training of that name; None without the project's sources, or what the extra ``learning`` installs."""
    file = FILES / f"{name}.yaml"
    if not file.is_file() or find_spec("torch") is None:
        return None
    at_most = {} if setting.seeds is None else {"seeds": setting.seeds}
    most = fewest(most or {}, at_most)
    training = AgentTraining(str(file), dict(environment), setting.quick, (), most, dict(options or {}), network)
    config = configuration(training, setting.inputs)
    needs: dict[str, None] = {}  # the files that lie in the folder of inputs; other names may be a generator's specs
    for source in (config.environment.platform, config.environment.workload, config.validation.workload):
        path = Path(source or "")
        if path.is_absolute() and path.is_relative_to(setting.inputs):
            needs[path.relative_to(setting.inputs).as_posix()] = None
    return replace(training, needs=tuple(needs))


def fewest(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the lower of two limits for each key."""
    return {**first, **{key: min(count, first.get(key, count)) for key, count in second.items()}}


def configuration(training: AgentTraining, inputs: Path) -> Config:
    """Return what the file says, with its inputs in the folder ``inputs``.

    If the training is quick, it has few iterations.
    """
    from learning.training.configuration import read_config

    config = read_config(training.file)
    keys: dict[str, Any] = dict(training.environment)
    for name in ("platform", "workload"):
        keys.setdefault(name, _moved(getattr(config.environment, name), inputs))
    environment = config.environment.model_copy(update=keys)
    validation = config.validation.model_copy(update={"workload": _moved(config.validation.workload, inputs)})
    most = {key: min(count, getattr(config, key)) for key, count in training.most.items()}
    algorithm = config.algorithm.model_copy(update={"options": {**config.algorithm.options, **training.options}})
    network = {"network": training.network} if training.network else {}
    config = config.model_copy(
        update={
            "environment": environment,
            "validation": validation,
            "algorithm": algorithm,
            "workers": 1,
            **most,
            **network,
        }
    )
    return _shortened(config) if training.quick else config


def train_first(start: str, inputs: Path, folder: str, training: AgentTraining | None) -> Measured:
    """Train what is not trained yet; what was measured so far is what that took, under ``start``.

    Each seed has a folder of its own, also where there is one only: more may be asked for later, or be there already.
    """
    if training is None:
        return Measured()
    from learning.training.training_seeds import train_several

    began = process_time()
    train_several(configuration(training, inputs), Path(folder), resume=True, progress=False)
    return trained_in(start, process_time() - began, training)


def trained_in(start: str, seconds: float, training: AgentTraining) -> Measured:
    """Return the cost of a training, s of CPU. If it was quick, also say that nothing follows from its results."""
    found = Measured({f"{start}training_s": seconds})
    if training.quick:
        said = f"trained for at most {QUICK['iterations']} iterations with one seed (--quick), not to the end"
        found.curtailed[start] = said
    return found


def _shortened(config: Config) -> Config:
    episodes = min(config.episodes, QUICK["episodes"])
    algorithm = config.algorithm
    if algorithm.name == "ppo":
        algorithm = algorithm.model_copy(update={"options": algorithm.options | {"epochs": QUICK["epochs"]}})
    iterations = min(config.iterations, QUICK["iterations"])
    warm_start = config.warm_start
    if warm_start is not None:
        options = warm_start.options | {"epochs": QUICK["epochs"]}
        warm_start = warm_start.model_copy(update={"episodes": QUICK["teacher_episodes"], "options": options})
    validation = config.validation.model_copy(
        update={"every": max(1, iterations), "episodes": min(config.validation.episodes, QUICK["teacher_episodes"])}
    )
    return config.model_copy(
        update={
            "algorithm": algorithm,
            "iterations": iterations,
            "episodes": episodes,
            "group": min(config.group, episodes),
            "seeds": 1,
            "warm_start": warm_start,
            "validation": validation,
        }
    )


def _moved(file: str | None, inputs: Path) -> str | None:
    parts = Path(file).parts if file is not None else ()
    for name in FOLDERS:
        if name in parts and Path(parts[0]).is_absolute():
            return str(inputs.joinpath(*parts[parts.index(name) :]))
    return file
