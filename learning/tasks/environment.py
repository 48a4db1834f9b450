"""Base of the environments: a simulation that is stepped from decision to decision.

A :class:`DecisionMaker` decides from the scheduler's view alone which actions are allowed, what an agent sees, and what
an action does. So a trained agent runs in an ordinary simulation by the same code, and the simulation that is stepped
here is the one that also runs without an agent.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, wraps
from operator import index
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, ParamSpec, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.errors import InputError, OptionError, counted, naming
from cluster_sim.models.contention import contention_models
from cluster_sim.models.network import network_models
from cluster_sim.models.power import power_models
from cluster_sim.models.processor_step import ProcessorModels
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.read_only import renew
from cluster_sim.registry import Spec
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.spelling import nearest
from cluster_sim.workload.fields import SUMMARY_METRICS, names
from learning.tasks.decision_maker import DecisionMaker, Observation
from learning.tasks.episode_metrics import KEYS, quick_metrics
from learning.tasks.episodes import Episode, EpisodeSource, machines_of
from learning.tasks.reward import Reward
from schedulers.policy.policy import PowerPolicy, make_power_policy

if TYPE_CHECKING:
    from cluster_sim.records.result import Result


P = ParamSpec("P")
_EPISODE = "episode"
"""Name of the only option of a reset."""


Episodes = Annotated[Any, Doc("episodes to draw from; a small built-in case unless given")]
ObservationSpec = Annotated[Any, Doc("what the agent sees: a spec")]
RewardSpec = Annotated[str, Doc("what a step is worth")]
CostSpec = Annotated[str | None, Doc("reward whose negative is a cost, for what is to be kept within a limit")]
PowerSpec = Annotated[str | None, Doc("power policy of every run")]
Flat = Annotated[bool, Doc("all observations but the mask stand in one Box")]
RenderMode = Annotated[Literal["ansi", "figure"] | None, Doc("what render returns: lines of text, or the Gantt so far")]


def names_options(init: Callable[P, None]) -> Callable[P, None]:
    """Decorate an environment's ``__init__``, whose options are checked: errors name the environment and the nearest option."""
    known = list(inspect.signature(init).parameters)[1:]
    init = checked(init)

    @wraps(init)
    def named(*args: P.args, **options: P.kwargs) -> None:
        name = type(args[0]).__name__
        for option in options:
            if option not in known:
                raise OptionError(name, nearest(option, known), option)
        try:
            init(*args, **options)
        except InputError as error:
            if name in str(error):
                raise
            with naming(name):
                raise

    return named


class Listener(Protocol):
    """Protocol of followers of all passes of an environment, such as teachers that need passes without a decision."""

    def begin(self, view: View) -> None:
        """Begin an episode."""
        ...

    def attend(self, view: View) -> None:
        """Begin a pass."""
        ...


class SchedulingEnv(gym.Env[Any, Any]):
    """Gymnasium environment in which an agent decides for a simulated cluster; one ``step`` is one decision.

    Parameters: ``maker`` decides, ``episodes`` are run, ``reward`` values the steps. ``flat`` puts all observations but
    the mask in one Box, in the order of their names. ``power`` makes the power policy of every run. ``render_mode`` is
    None, "ansi" (a few lines of text) or "figure" (the Gantt so far). ``cost`` is a reward whose negative is
    ``info["cost"]`` after each step, for a cost that is to be kept within a limit (as in Safety Gym, Ray et al. 2019).

    ``reset(seed=, options={"episode": Episode})`` runs that episode; without the option one is drawn with
    ``np_random``, from which alone all randomness comes. ``info["action_mask"]`` and :meth:`action_masks` say what is
    allowed. An action that is not allowed counts as the first that is, and ``info["action_refused"]`` says so.

    ``terminated``: the jobs are over. ``truncated``: the episode's ``until`` came first. Either way ``info["metrics"]``
    has the metrics of the run's summary, except those without a value (a mean over no jobs). ``JobNode`` and
    ``JobChoice`` have only the thirteen metrics that take no longer than an episode (:data:`metric_names`). The last
    observation of a truncated run is the situation as it stands, so that a critic can estimate what would have
    followed; that of a terminated run is zeros. The first action is allowed if no other is. An episode without
    anything to decide has one step, which says so.

    ``simulation`` is the run, :meth:`result` its records; ``listeners`` are told of every pass.
    """

    metric_names: Sequence[str] = names(SUMMARY_METRICS)
    """Names of the metrics that ``info["metrics"]`` may have; a training reduces or limits some of these."""
    metadata: dict[str, Any] = {"render_modes": ["ansi", "figure"], "render_fps": 1}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        maker: DecisionMaker,
        episodes: EpisodeSource,
        reward: Reward,
        *,
        flat: bool = False,
        power: str | None = None,
        cost: Reward | None = None,
        render_mode: str | None = None,
    ):
        self.maker = maker
        self.episodes = episodes
        self.reward = reward
        self.cost = cost
        self._signals = (reward,) if cost is None else (reward, cost)
        self.flat = flat
        self.render_mode = render_mode
        self.power = power
        self._power_policy()  # a wrong spec is better found now
        self.listeners: list[Listener] = []
        self.simulation: Simulation | None = None
        self.episode: Episode | None = None
        self.action_space = maker.action_space
        if flat:
            space = maker.observation_space
            boxes = [box for name, box in sorted(space.items()) if name != "action_mask"]
            low = np.concatenate([box.low.ravel() for box in boxes])  # type: ignore[attr-defined]
            high = np.concatenate([box.high.ravel() for box in boxes])  # type: ignore[attr-defined]
            self.observation_space = spaces.Box(low, high, dtype=np.float32)
        else:
            self.observation_space = maker.observation_space
        self._network = network_models.make("none")
        self._mask: np.ndarray = np.zeros(int(maker.action_space.n), np.int8)
        self._is_over = True  # nothing more to decide
        self._is_told = True  # and a step has said so
        self.check_machines(episodes)

    # ------------------------------------------------------------------ Gymnasium

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and go on to its first decision. Raises InputError for an episode on a machine that does not fit."""
        self._begin(seed, options)
        return self._shown(self._observed()), self._info()

    @staticmethod
    def reset_together(
        environments: Sequence[SchedulingEnv],
        seeds: Sequence[int | None],
        options: Sequence[dict[str, Any] | None],
    ) -> list[tuple[Any, dict[str, Any]]]:
        """Reset several environments, made alike, as ``reset`` does; they are observed together."""
        for env, seed, wanted in zip(environments, seeds, options, strict=True):
            env._begin(seed, wanted)
        observations = _observed_together(environments)
        return [(env._shown(each), env._info()) for env, each in zip(environments, observations, strict=True)]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out an action and go on to the next decision. Raises InputError before a reset and after the end."""
        return self._told(self._advance(action), self._observed())

    @staticmethod
    def step_together(
        environments: Sequence[SchedulingEnv], actions: Sequence[int]
    ) -> list[tuple[Any, float, bool, bool, dict[str, Any]]]:
        """Step several environments, made alike, each with its action, as ``step`` does; they are observed together."""
        outcomes = [env._advance(action) for env, action in zip(environments, actions, strict=True)]
        told = zip(environments, outcomes, _observed_together(environments), strict=True)
        return [env._told(outcome, observation) for env, outcome, observation in told]

    def action_masks(self) -> np.ndarray:
        """Return which actions are allowed now, bool, shape (actions,): for sb3-contrib's MaskablePPO."""
        return self._mask.astype(bool)

    def check_machines(self, episodes: EpisodeSource, name: str = "episodes") -> None:
        """Raise InputError for a source, called ``name``, with a machine that the decision-maker was not made for."""
        for called, platform in machines_of(episodes, name):
            self._check_machine(called, platform)

    def render(self) -> Any:
        """Render the simulation as it stands, in the form of ``render_mode``."""
        if self.render_mode is None or self.simulation is None:
            return None
        if self.render_mode == "ansi":
            return described(self.simulation)
        import cluster_sim

        return cluster_sim.gantt(self.simulation.result())

    def result(self) -> Result:
        """Return the records of the run as it stands. Raises InputError before the first reset."""
        if self.simulation is None:
            raise InputError("environment", "a reset before there is a result")
        return self.simulation.result()

    # ------------------------------------------------------------------ stepping: what other kinds of agents replace

    def make_simulation(self, episode: Episode) -> Simulation:
        """Make the run of an episode, without a scheduler: the agent has its place."""
        simulation = Simulation(
            episode.platform,
            episode.workload,
            power=self._power_policy(),
            seed=episode.seed,
            **episode.rules(),
            models=models_of(episode.platform),
            network=self._network,
        )
        planning = simulation.view.planning
        renew(planning, counts_memory=planning.counts_memory and self.maker.memory)
        return simulation

    def next_pass(self) -> View | None:
        """Go on to the agent's next pass; None when the run is over."""
        assert self.simulation is not None
        return self.simulation.step_to_decision()

    def carry_out(self, decisions: Sequence[Any]) -> None:
        """Carry out what has been decided."""
        assert self.simulation is not None
        for decision in decisions:
            self.simulation.apply(decision)

    def metrics(self) -> dict[str, Any]:
        """Return ``info["metrics"]`` of a finished run: all of its summary, or what :func:`quick_metrics` tells."""
        if self.metric_names is KEYS:
            return quick_metrics(self.simulation) if self.simulation is not None else {}
        return self.result().metrics

    # ------------------------------------------------------------------

    def __getstate__(self) -> object:
        """Support ``copy`` and ``pickle``. Raises InputError after a reset: a copy would share the run."""
        if self.simulation is not None:
            raise InputError(
                "copy of an environment",
                "one that has not been reset, for a run cannot be copied: the same seed and actions lead there again",
            )
        return super().__getstate__()

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Begin an episode and go on to its first decision, which is yet to be observed."""
        name = type(self).__name__
        if options is not None and not isinstance(options, Mapping):
            raise InputError(f"{name}.reset, options", "a mapping such as {'episode': Episode}", options)
        if unknown := [option for option in options or () if option != _EPISODE]:
            raise InputError(f"{name}.reset, options", f"only '{_EPISODE}'", unknown[0])
        super().reset(seed=seed, options=options)
        episode = (options or {}).get(_EPISODE)
        self.episode = episode = self.episodes.draw(self.np_random) if episode is None else episode
        if not isinstance(episode, Episode):
            raise InputError(f"{name}.reset, option episode", "an episode, such as env.episodes.all() has", episode)
        self._check_machine("episode", episode.platform)
        self.simulation = simulation = self.make_simulation(episode)
        self.maker.begin(simulation.view)
        for listener in self.listeners:
            listener.begin(simulation.view)
        for signal in self._signals:
            signal.begin(simulation, self.maker)
        self._is_over = self._is_told = False
        self._go_to_decision()

    def _check_machine(self, where: str, platform: Platform) -> None:
        """Raise InputError for a machine that is another than the decision-maker was made for, unless any will do."""
        own = self.episodes.platform
        if platform is own or getattr(self.maker, "on_any_machine", False) or platform == own:
            return
        expected, found = _in_brief(own), _in_brief(platform)
        if found == expected:
            found += " that differs otherwise"
        raise InputError(where, f"the machine that {type(self).__name__} was made for, {expected}", found)

    def _power_policy(self) -> PowerPolicy | None:
        return None if self.power is None else make_power_policy(self.power)

    def _advance(self, action: Any) -> _Outcome:
        """Carry out an action and go on to the next decision, which is yet to be observed."""
        if self._is_told or self.simulation is None:
            raise InputError("environment", "a reset before the first step and after the last one")
        try:
            choice = index(action)
        except TypeError:
            raise InputError("action", "a whole number", action) from None
        if not 0 <= choice < len(self._mask):
            raise InputError("action", f"a number from 0 to {len(self._mask) - 1}", choice)
        refused = not self._mask[choice]
        if refused:
            choice = int(self._mask.argmax())
        view = self.simulation.view
        if not self._is_over:  # a reset cannot say that an episode is over, so the first step may find that it is
            self.carry_out(self.maker.decisions(view, choice))
            if not self.maker.goes_on(view):
                self._go_to_decision()
        self._is_told = self._is_over
        terminated, truncated = self._ending()
        value = self.reward.value(view, terminated)
        cost = None if self.cost is None else -self.cost.value(view, terminated)
        return _Outcome(value, terminated, truncated, refused, cost)

    def _told(self, outcome: _Outcome, observation: Observation) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return a step in Gymnasium's form."""
        shown, info = self._shown(observation), self._info()
        if outcome.cost is not None:
            info["cost"] = outcome.cost
        if outcome.refused:
            info["action_refused"] = True
        return shown, outcome.reward, outcome.terminated, outcome.truncated, info

    def _go_to_decision(self) -> None:
        """Go on until the agent is asked something or the run is over."""
        assert self.simulation is not None
        for signal in self._signals:
            signal.leave(self.simulation.view)
        while (view := self.next_pass()) is not None:
            for listener in self.listeners:
                listener.attend(view)
            self.carry_out(self.maker.attend(view))
            goes_on = self.maker.goes_on(view)
            for signal in self._signals:
                signal.passed(view)
            if goes_on:
                return
            for signal in self._signals:
                signal.leave(view)
        for signal in self._signals:
            signal.passed(self.simulation.view)
        self._is_over = True

    def _ending(self) -> tuple[bool, bool]:
        """Return (terminated, truncated)."""
        simulation = self.simulation
        assert simulation is not None
        if not self._is_over:
            return False, False
        cut_short = simulation.until is not None and simulation.attempts.over < len(simulation.workload)
        return not cut_short, cut_short

    def _observed(self) -> Observation:
        assert self.simulation is not None
        if not self._is_over:
            return self.maker.observe(self.simulation.view)
        if self._ending()[1]:  # the run was cut short
            view = self.simulation.view
            self.maker.attend(
                view
            )  # the maker has seen no pass of this time; its decisions are not carried out any more
            observation = dict(self.maker.observe(view))
        else:
            boxes = self.maker.observation_space.items()
            observation = {name: np.zeros_like(box.low) for name, box in boxes}  # type: ignore[attr-defined]
        if not observation["action_mask"].any():  # some action is always allowed
            observation["action_mask"] = mask = np.zeros_like(observation["action_mask"])
            mask[0] = 1
        return observation

    def _shown(self, observation: Observation) -> Any:
        """Return an observation in the requested form, and keep its mask, which is in force from now on."""
        self._mask = observation["action_mask"].copy()  # what is shown is the caller's
        if not self.flat:
            return observation
        return np.concatenate([observation[name].ravel() for name in sorted(observation) if name != "action_mask"])

    def _info(self) -> dict[str, Any]:
        assert self.simulation is not None
        info: dict[str, Any] = {"action_mask": self._mask.copy()}
        if self._is_told:
            # Vector environments put each into an array of the type of the first, and a None fits into few of them.
            info["metrics"] = {name: value for name, value in self.metrics().items() if value is not None}
        return info


def models_of(platform: Platform) -> ProcessorModels:
    """Return the platform's models, which all environments of this process share."""
    specs = platform.contention_model, platform.power_model
    contention, power = (Spec.parse(spec).name for spec in specs)
    # A name may have been registered anew, so the cache's key has the makers as well.
    return _shared_models(*specs, (contention_models.factory(contention), power_models.factory(power)))


@lru_cache(maxsize=8)
def _shared_models(contention: str, power: str, makers: object) -> ProcessorModels:
    """Return the models of these specs, made by these makers.

    Models are pure. Applying them to processors costs as much as several steps, and what one environment has predicted
    serves the others.
    """
    return ProcessorModels(contention_models.make(contention), power_models.make(power))


class _Outcome(NamedTuple):
    """Outcome of an action."""

    reward: float
    terminated: bool
    truncated: bool
    refused: bool  #: Whether it was not allowed.
    cost: float | None  #: If the environment has one.


def observes_together(thing: object) -> bool:
    """Return whether ``observe_together`` of a thing gives for each of several like it what its ``observe`` gives.

    A call of numpy costs as much for one as for many. If a class overrides ``observe`` alone, the ``observe_together``
    that it inherits observes something else.
    """
    return _kind_observes_together(type(thing))  # type: ignore[arg-type]


@cache
def _kind_observes_together(kind: type) -> bool:
    alone, together = (
        next((base for base in kind.__mro__ if name in vars(base)), None) for name in ("observe", "observe_together")
    )
    return alone is not None and together is not None and issubclass(together, alone)


def _observed_together(environments: Sequence[SchedulingEnv]) -> list[Observation]:
    """Return the observation of each environment."""
    deciding = [env for env in environments if not env._is_over]
    makers = [env.maker for env in deciding]
    views = [env.simulation.view for env in deciding if env.simulation]
    kinds = {(type(env.maker), int(env.action_space.n)) for env in deciding}  # type: ignore[attr-defined]
    alike = len(kinds) == 1 and all(view.platform is views[0].platform for view in views)
    if len(makers) < 2 or not alike or not observes_together(makers[0]):
        return [env._observed() for env in environments]
    first: Any = makers[0]
    found = iter(first.observe_together(makers, views))
    return [env._observed() if env._is_over else next(found) for env in environments]


def _in_brief(platform: Platform) -> str:
    nodes, cores = counted(platform.node_count, "node"), counted(platform.core_count, "core")
    return f"platform '{platform.id}' of {nodes} and {cores}"


def described(simulation: Simulation) -> str:
    """Describe a running simulation in a few lines of text."""
    view = simulation.view
    free, cores = view.free_total, view.platform.core_count
    lines = [
        f"t = {view.now:g} s   {view.watts:g} W   {view.energy_j:g} J",
        f"jobs: {view.pending_count} pending, {view.running_count} running, {simulation.attempts.over} over "
        f"of {len(simulation.workload)}   cores: {free} of {cores} free",
    ]
    lines += [
        f"  {running.job.job_id}: {running.job.requested_cores} cores on "
        + ", ".join(view.platform.node_name(node) for node in running.placement.nodes[:4])
        + (" …" if len(running.placement.nodes) > 4 else "")
        for running in view.running[:20]
    ]
    return "\n".join(lines)
