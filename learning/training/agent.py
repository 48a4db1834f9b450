"""Agents in runs: a trained agent as a scheduler or power policy, ``learned:DIR``, or a ready one, ``learned:NAME``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from typing_extensions import Doc

from cluster_sim.errors import FormatError, InputError, UnfamiliarWarning, naming, warn_user
from cluster_sim.extras import needed
from cluster_sim.files.source import READY_PREFIX, running_no_new_files
from cluster_sim.formats.native_platform import validated
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision, PowerDecision
from cluster_sim.run.view import View
from learning.tasks.episodes import Drawn
from learning.training.familiarity import FIRST_LOOK, Familiarity
from schedulers.policy.policy import PowerPolicy, Scheduler

if TYPE_CHECKING:
    from cluster_sim.workload.workload import Workload
    from learning.networks.network import Kept, Memory, Network
    from learning.tasks.decision_maker import DecisionMaker

BEST = "best"
FILE = "agent"
"""Name of an agent's tree in its folder: the keys of its environment, its network's spec, and weights."""
READY = Path(__file__).parents[1] / "ready"
"""Agents that come with the toolkit, each in a folder of its name with its card, README.md."""


class Agent:
    """Trained agent: its environment, and the network that decides.

    Attributes: ``kind`` of environment; ``environment``, the keys of a decision-maker of that kind; ``network``, its
    spec; ``weights`` by name; ``facts`` about its training (seed, iteration, objective, value, reduction, baseline …);
    ``seen``, the facts of its training's observations (:class:`~learning.training.familiarity.Familiarity`), empty if
    unknown; ``source``, the file from which it was read, for messages.
    """

    source: str = ""

    def __init__(
        self,
        environment: Mapping[str, Any],
        network: str,
        weights: Mapping[str, Any],
        facts: Mapping[str, Any],
        seen: Mapping[str, Any] | None = None,
    ):
        self.environment = dict(environment)
        self.kind = str(environment["kind"])
        self.network = network
        self.weights = dict(weights)
        self.facts = dict(facts)
        self.seen = dict(seen or {})

    def save(self, folder: str | Path) -> None:
        """Write the agent to a folder, whole or not at all. Raises FormatError."""
        from learning.training.checkpoints import save

        save(folder, FILE, {name: getattr(self, name) for name in (*_PARTS, SEEN)})

    @classmethod
    def load(cls, directory: str | Path) -> Agent:
        """Load the agent from a folder that ``train`` left: the agent itself, the best one, or the best of its seeds.

        Raises InputError when there is none, FormatError when its files are broken.
        """
        with needed("learned agents"):
            import safetensors  # noqa: F401
            import torch  # noqa: F401
        folder = find_agents(directory)[0]
        from learning.training.checkpoints import load

        path = folder / f"{FILE}.json"
        tree = _checked(load(folder, FILE), path)
        environment, network, weights, facts = (tree[name] for name in _PARTS)
        agent = cls(environment, network, weights, facts, tree.get(SEEN))
        agent.source = str(path)
        return agent

    @property
    def decides(self) -> Literal["scheduler", "power", "both"]:
        """Return whose place the agent takes: the scheduler's, a power policy's or both."""
        return _PLACES.get(self.kind, "scheduler")

    def maker(self, platform: Platform, trust: bool = False) -> DecisionMaker:
        """Return the decision-maker on that platform: it makes observations of a view, and decisions of an action.

        With ``trust`` Python files that the agent names are run. Raises InputError.
        """
        from learning.training.configuration import EnvironmentKeys
        from learning.training.inputs import environment_on

        keys = EnvironmentKeys.model_validate(self.environment)
        with naming(self.source), running_no_new_files(unless=trust):
            return environment_on(keys, Drawn(platform, _no_jobs)).maker

    def build(self, maker: DecisionMaker, trust: bool = False) -> Network:
        """Build the agent's network, for the observations of a decision-maker.

        With ``trust`` Python files that the agent names are run. Raises InputError if the weights do not fit.
        """
        from learning.networks.building import make_network
        from learning.networks.network import one_thread

        # Weights are drawn before they are overwritten: with one thread that takes a tenth of the time on a busy machine.
        with naming(self.source), one_thread(), running_no_new_files(unless=trust):
            network = make_network(self.network, maker.observation_space, int(maker.action_space.n), seed=0)
            network.load_weights(self.weights)
        return network


_PLACES: Mapping[str, Literal["power", "both"]] = {"node-shutdown": "power", "jobs-and-nodes": "both"}
"""Places of agents that do more or less than a scheduler, by kind of environment."""
_PARTS = {"environment": dict, "network": str, "weights": dict, "facts": dict}
SEEN = "seen"
_FACTS: dict[str, tuple[type, ...]] = {"seed": (int,), "score": (int, float), "objective": (str,)}


def _checked(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the tree of an agent if its parts have the right types. Raises FormatError naming the file and the key."""
    from learning.training.configuration import EnvironmentKeys

    def require(value: Any, key: str, kinds: tuple[type, ...]) -> None:
        if not isinstance(value, kinds) or isinstance(value, bool):
            expected = {dict: "a mapping", str: "text", int: "a number", np.ndarray: "an array of numbers"}[kinds[0]]
            raise FormatError(f"{path}: {key}", expected, f"a value of type {type(value).__name__}")

    for part, kind in _PARTS.items():
        require(tree.get(part), part, (kind,))
    for fact, kinds in _FACTS.items():
        require(tree["facts"].get(fact), f"facts.{fact}", kinds)
    for name, weight in tree["weights"].items():
        require(name, "weights, a name", (str,))
        require(weight, f"weights.{name}", (np.ndarray,))
        if weight.dtype.kind not in "fiu":
            raise FormatError(f"{path}: weights.{name}", "an array of numbers", f"one of {weight.dtype}")
    if tree.get(SEEN):
        require(tree[SEEN], SEEN, (dict,))
        require(tree[SEEN].get("sums"), f"{SEEN}.sums", (dict,))
        require(tree[SEEN].get("count"), f"{SEEN}.count", (int,))
        for name, values in tree[SEEN]["sums"].items():
            require(values, f"{SEEN}.sums.{name}", (np.ndarray,))
            if values.ndim != 2 or len(values) != 2 or values.dtype.kind != "f":
                raise FormatError(f"{path}: {SEEN}.sums.{name}", "sums and sums of squares", f"shape {values.shape}")
    validated(EnvironmentKeys, tree["environment"], path, "environment")
    require(tree["environment"].get("kind"), "environment.kind", (str,))
    return tree


def _no_jobs(rng: np.random.Generator) -> Workload:
    raise AssertionError("an environment that only lends its decision-maker is never reset")


def find_agents(directory: str | Path) -> list[Path]:
    """Return the folders of the agents that ``train`` left in a folder: one for each training seed, the best first.

    The best by validation has the greatest reduction, or without a baseline the least objective; the first of equals. A
    name of :func:`ready_agents` is that agent if there is no folder of this name; with ``ready:`` before it, always. A
    spec, ``learned:DIR[,trust=yes]``, stands for its folder. Raises InputError when there is none.
    """
    directory = trusted(directory)[0]
    folder = Path(directory)
    name = directory.removeprefix(READY_PREFIX)
    if (name != directory or not folder.exists()) and name in ready_agents():
        folder = READY / name
    for place in (folder, folder / BEST):
        if os.path.isfile(place / f"{FILE}.json"):
            return [place]
    seeds = sorted(folder.glob("seed-*"), key=lambda seed: (len(seed.name), seed.name))
    agents = [seed / BEST for seed in seeds if (seed / BEST / f"{FILE}.json").is_file()]
    if not agents:
        ready = ", ".join(ready_agents())
        expected = f"a folder in which cluster-sim train has left an agent, or a ready agent ({ready})"
        raise InputError(f"learned:{directory}", expected, "none in it" if folder.is_dir() else "no such folder")
    return sorted(agents, key=lambda agent: float(Agent.load(agent).facts["score"]))


def trusted(directory: str | Path) -> tuple[str, bool]:
    """Return the folder of ``DIR`` or ``learned:DIR[,trust=yes]``, and whether its agents' Python files may be run.

    Raises InputError for other options.
    """
    name = str(directory)
    if not name.startswith("learned:"):
        return name, False
    folder, _, option = name.removeprefix("learned:").partition(",")
    if option not in ("", "trust=no", "trust=yes"):
        raise InputError(name, f"learned:{folder} or learned:{folder},trust=yes", option)
    return folder, option == "trust=yes"


def ready_agents() -> dict[str, str]:
    """Return the names of the agents that come with the toolkit, each with the title of its card."""
    cards = {card.parent.name: card for card in sorted(READY.glob("*/README.md"))}
    return {name: card.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for name, card in cards.items()}


AgentFolder = Annotated[str, Doc("folder that train left, or the name of an agent that comes ready")]
Sampling = Annotated[bool, Doc("actions are drawn, not the most probable ones taken")]
Trust = Annotated[bool, Doc("Python files that the agent names are run")]


class _Player:
    """Agent in a run: observes, chooses an action, and turns it into decisions.

    The agent's environment has the same decision-maker, so a run is the same as an episode there.
    """

    def __init__(self, directory: str, sample: bool, trust: bool, kind: str):
        agent = Agent.load(directory)
        if (agent.decides == "power") != (kind == "power"):
            wanted = {"scheduler": "an agent that starts jobs", "power": "an agent that switches nodes alone"}
            place = {"scheduler": "a scheduler (--scheduler)", "power": "a power policy (--power-policy)"}
            place["both"] = f"{place['scheduler']} that needs no power policy"
            found = f"one of kind {agent.kind}, {place[agent.decides]}"
            raise InputError(f"learned:{directory}", wanted[kind], found)
        self.agent, self._sample, self._trust, self._directory = agent, sample, trust, directory
        self._platform: Platform | None = None
        self.unfamiliar: UnfamiliarWarning | None = None

    def begin(self, view: View) -> None:
        """Begin a run without memory of the last one."""
        if view.platform is not self._platform:
            self._platform = view.platform
            self._maker = self.agent.maker(view.platform, self._trust)
            self._network = self.agent.build(self._maker, self._trust)
        self._maker.begin(view)
        self._memory: Memory | None = None
        self.unfamiliar = None
        self._seen = Familiarity() if self.agent.seen else None
        # A stream of its own: all other draws of this run are the same with and without the agent.
        self._rng: np.random.Generator | None = view.rng.spawn(1)[0] if self._sample else None

    def play(self, view: View) -> Iterator[Any]:
        """Yield the decisions of this instant."""
        yield from self._maker.attend(view)
        while self._maker.goes_on(view):
            kept = self._network.keep(self._maker.observe(view))
            if self._seen is not None:
                self._look(self._seen, kept)
            action, self._memory = self._network.decide_kept(kept, self._memory, self._rng)
            yield from self._maker.decisions(view, action)

    def _look(self, seen: Familiarity, kept: Kept) -> None:
        """Warn once (UnfamiliarWarning) of a run that is far from what the agent learned from."""
        seen.note([kept])
        if seen.count < FIRST_LOOK or seen.count & (seen.count - 1):
            return
        strange = seen.strangest(Familiarity(self.agent.seen))
        if strange is None:
            return
        self._seen = None
        names = getattr(self._maker, "feature_names", {}).get(strange.part, ())
        name = names[strange.place].replace("_", " ") if strange.place < len(names) else f"number {strange.place}"
        agent = f"learned:{self._directory}"
        text = (
            f"{agent}: this run is far from what the agent learned from: {strange.part}, {name}, is "
            f"{strange.mean:.3g} on average over {seen.count:,} decisions, {strange.trained:.3g} ± {strange.deviation:.2g} "
            "in training; compare it with a rule here before you rely on it"
        )
        self.unfamiliar = UnfamiliarWarning(text, agent)
        warn_user(self.unfamiliar)

    def settle(self, view: View) -> Iterable[Any]:
        """Return the decisions that follow, after the scheduler's pass, from the agent's decision before it."""
        settle = getattr(self._maker, "settle", None)
        return () if settle is None else settle(view)


class LearnedScheduler(Scheduler):
    """Scheduler that is a trained agent: learned:DIR[,sample=yes][,trust=yes], DIR left by train.

    DIR may also hold several training seeds: the best of them, by validation, decides. The agent takes its most probable
    action, or with ``sample`` one drawn with the run's seed. With ``trust`` it runs the Python files that the agent names.
    An agent of kind jobs-and-nodes brings its own power policy. Raises InputError when there is no agent in DIR, or one
    that does not suit the platform.
    """

    spec = "learned"

    @checked
    def __init__(self, path: AgentFolder, sample: Sampling = False, trust: Trust = False):
        self._player = _Player(path, sample, trust, "scheduler")
        self.memory = bool(self._player.agent.environment.get("options", {}).get("memory", False))
        if self._player.agent.decides == "both":
            self.power_policy = NodesOfScheduler(self, self._player)

    @property
    def unfamiliar(self) -> UnfamiliarWarning | None:
        """Return the warning of this run, if it is far from the agent's training."""
        return self._player.unfamiliar

    def begin(self, view: View) -> None:
        self._player.begin(view)

    def schedule(self, view: View) -> Iterable[Decision]:
        return self._player.play(view)


class NodesOfScheduler(PowerPolicy):
    """Power policy that carries out what an agent decided about nodes in the scheduler's pass."""

    follows_switching = reserves = False

    def __init__(self, scheduler: LearnedScheduler, player: _Player):
        self._scheduler, self._player = scheduler, player

    @property
    def spec(self) -> str:
        """Return the scheduler's spec, for records and messages."""
        return self._scheduler.spec

    def react(self, view: View) -> Iterable[PowerDecision]:
        return self._player.settle(view)


class LearnedPowerPolicy(PowerPolicy):
    """Power policy that is an agent: learned:DIR[,sample=yes][,trust=yes], as in :class:`LearnedScheduler`."""

    spec = "learned"

    @checked
    def __init__(self, path: AgentFolder, sample: Sampling = False, trust: Trust = False):
        self._player = _Player(path, sample, trust, "power")

    @property
    def unfamiliar(self) -> UnfamiliarWarning | None:
        """Return the warning of this run, if it is far from the agent's training."""
        return self._player.unfamiliar

    def begin(self, view: View) -> None:
        self._player.begin(view)

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        return self._player.play(view)

    def react(self, view: View) -> Iterable[PowerDecision]:
        return self._player.settle(view)
