"""Training: rollouts and updates, an iteration at a time, with logs, checkpoints, and the best agent kept.

A training is a function of its configuration. An iteration depends only on the weights, the optimisers and its own
number: its random numbers come from a generator seeded with the training's seed and that number, and the number of
processes changes nothing. So a training that was killed and resumed from its last checkpoint ends with the same
weights, bit by bit, as one that was not (on one machine, with the same versions).

The folder has::

    config.yaml       the configuration
    metrics.csv       a row per iteration (learning.training.logs.NUMBERS explains them), events.out.tfevents… the same
    checkpoint/       everything that the next iteration depends on
    best/             the best agent by validation: what ``learned:DIR`` plays
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim import __version__
from cluster_sim.errors import FormatError, InputError, ModelWarning, counted
from cluster_sim.files.folders import held
from cluster_sim.records.assumptions import merged, of_inputs
from cluster_sim.records.comparison import Effect, too_few
from cluster_sim.records.intervals import ComparisonVerdict
from cluster_sim.run.progress import Progress
from learning.algorithms.constraint import check_classes
from learning.algorithms.hyper_parameters import make_hyper_parameters
from learning.algorithms.imitation import ImitationOptions, Teacher, demonstrate, greedy, imitate
from learning.algorithms.rollouts import Trajectory, collect, episode_seeds
from learning.algorithms.workers import processes
from learning.networks.building import make_network
from learning.networks.network import Network, one_thread
from learning.tasks.episodes import Days, EpisodeSource, inputs_of, spread
from learning.tasks.job_choice.teachers import FirstByOrder
from learning.tasks.job_node.teachers import SchedulerTeacher
from learning.tasks.jobs_and_nodes.teachers import SchedulerAndTimeout
from learning.tasks.node_shutdown.teachers import shutdown_teachers
from learning.training import checkpoints
from learning.training.agent import BEST, Agent
from learning.training.algorithms import Algorithm, make_algorithm
from learning.training.configuration import Config, WarmStartKeys, check_same, read_config, write_config
from learning.training.familiarity import Familiarity
from learning.training.heuristics import switches_nodes
from learning.training.inputs import MakeEnvironment
from learning.training.logs import CSV, Log, in_brief, read_metrics
from learning.training.validation import Validation, check_names, objective_of, ratio, source_of

if TYPE_CHECKING:
    from learning.tasks.environment import SchedulingEnv

TEACHERS: dict[str, Callable[[str], Teacher]] = {
    "job-node": SchedulerTeacher,
    "job-choice": FirstByOrder,
    "node-shutdown": shutdown_teachers.make,
    "jobs-and-nodes": SchedulerAndTimeout,
}
"""Makers of teachers from a spec, by kind of environment."""

_LESSONS: dict[object, list[Trajectory]] = {}
"""Last days that a teacher has shown in this process, for the next training seed."""

_EPISODES_NOTED = 8  # one episode in so many counts as what the agent has seen

IMPROVED_AT = "improved_at"
"""Fact of the best agent: the iteration after which validation last found a better one, not one as good."""

_BEFORE_ALL = 2**31
"""Number in place of an iteration's, for the seeds of a teacher's episodes."""

CHECKPOINT, STATE, CONFIG = "checkpoint", "state", "config.yaml"


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """Summary of a training: the best agent by validation, and its iteration.

    ``value`` and ``baseline_value`` are means of the objective over the validation episodes. ``reduction_by_episode``,
    by which agents are compared, is the mean reduction, in %, relative to the best baseline of each episode.
    ``baselines`` has both numbers for every baseline. ``remark`` says why there was nothing to learn, if that is known.
    ``over`` is how far the best agent's mean cost is above its limit, in the worst class; ``broken`` names the limits
    of metrics that it breaks, and by how much. ``unlike`` names validation episodes in which the best agent ended other
    jobs than a baseline: the objective is of different work there. ``untrained``: the best agent is the initial one,
    without a teacher. ``values`` and ``baseline_values`` are the objective in each validation episode, of the agent and
    of the ``baseline``.
    """

    folder: str
    seed: int
    iterations: int
    best_iteration: int
    objective: str
    value: float
    baseline: str
    baseline_value: float
    reduction_by_episode: float
    baselines: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    remark: str = ""
    over: float = 0.0
    unlike: str = ""
    broken: str = ""
    untrained: bool = False
    values: tuple[float, ...] = ()
    baseline_values: tuple[float, ...] = ()

    @property
    def reduction(self) -> float:
        """Return by how many % ``value`` is less than ``baseline_value``; 0 without a baseline."""
        return 100.0 * (1.0 - ratio(self.value, self.baseline_value)) if self.baseline else 0.0

    @property
    def effect(self) -> Effect | None:
        """Compare agent and baseline, paired by validation episodes; None without a baseline or known values."""
        if not self.baseline or not self.values or len(self.values) != len(self.baseline_values):
            return None
        pair = np.array(self.values), np.array(self.baseline_values)
        names = (f"seed {self.seed}", self.baseline)
        return Effect.paired(self.objective, self.objective, "", names, pair, block="validation episode")

    @property
    def certainty(self) -> str:
        """Return the certainty of ``reduction`` in words: its interval, no difference shown, or too few episodes."""
        effect = self.effect
        if effect is None:
            return ""
        if effect.verdict is ComparisonVerdict.VALUES:
            return too_few(effect.blocks, effect.block)
        told = f"{effect.in_percent()} over {counted(effect.blocks, effect.block)}"
        return f"{ComparisonVerdict.TIE}, {told}" if effect.verdict is ComparisonVerdict.TIE else told


def check(config: Config) -> list[str]:
    """Read and make everything that a configuration names, and play nothing. Raises InputError for the first wrong thing.

    Returns the assumptions of the runs of training and validation (:mod:`cluster_sim.records.assumptions`), a line for
    each kind.
    """
    environment, _, validated_on = _made(config)
    sources = [environment.episodes]
    if validated_on is not environment.episodes:
        sources.append(validated_on)
    switches = switches_nodes(environment.maker.kind, environment.power)
    return merged(of_inputs(*inputs, switches=switches) for source in sources for inputs in inputs_of(source))


def warn_ahead(config: Config) -> None:
    """Warn (ModelWarning) once of what each training would warn of in its process: files, misleading returns."""
    environment, algorithm, _ = _made(config)
    _warn_of_returns(config, environment, algorithm)


def _made(config: Config) -> tuple[SchedulingEnv, Algorithm, EpisodeSource]:
    """Make all that a configuration names, and return the environment, the algorithm and the validation's episodes."""
    environment = MakeEnvironment.of(config.environment)()
    _, algorithm = _learner(config, environment)
    if config.warm_start is not None:
        _teacher(config, config.warm_start, float(algorithm.options.gamma))
    check_names(config, environment, config.objective or objective_of(environment))
    return environment, algorithm, source_of(config, environment)


def _warn_of_returns(config: Config, environment: SchedulingEnv, algorithm: Algorithm) -> None:
    """Warn of a reward with another discount, and of an algorithm that ignores what follows a cut episode."""
    if getattr(config.environment, "until", None) is not None and not algorithm.looks_beyond:
        warnings.warn(
            f"until cuts episodes off, and {config.algorithm.name} takes that for their end: what is put off until then "
            "costs nothing; ppo adds what its critic expects of it",
            ModelWarning,
            stacklevel=3,
        )
    reward, learned = environment.reward, float(algorithm.options.gamma)
    gamma = getattr(reward, "gamma", learned)
    if getattr(reward, "shaped", False) and gamma != learned:
        warnings.warn(
            f"the reward is shaped for gamma={gamma:g} and the algorithm learns with gamma={learned:g}: "
            "what is best by the one need not be best by the other; give both the same",
            ModelWarning,
            stacklevel=3,
        )


def has_begun(config: Config, folder: Path, resume: bool) -> bool:
    """Return whether a training in the folder goes on. Raises InputError if it can neither begin nor go on."""
    if any(checkpoints.exists(other / CHECKPOINT, STATE) for other in folder.glob("seed-*")):
        raise InputError(folder, "a folder for a single training", "trainings with several seeds in it")
    begun = checkpoints.exists(folder / CHECKPOINT, STATE)
    if begun and not resume:
        raise InputError(folder, "a folder without a training in it, or --resume")
    if begun:
        check_same(config, read_config(folder / CONFIG), folder / CONFIG)
    return begun


def train_one(config: Config, out: str | Path, resume: bool = False, progress: bool = False) -> TrainingSummary:
    """Run one training, in this process and the processes that play its episodes. Raises InputError."""
    folder = Path(out)
    begun = has_begun(config, folder, resume)
    groups = -(-config.episodes // config.group)
    with processes(config.workers, groups) as executor:
        training = Training(config, folder, executor)
        return training.run(begun, progress)


class _Played:
    """Memory of all rollouts of a training, to find out whether there was anything to learn."""

    def __init__(self) -> None:
        self._episodes = 0
        self._choices: int | None = None
        self._values: set[float] = set()

    def note(self, episodes: Sequence[Trajectory], values: Sequence[float]) -> None:
        """Add the episodes of a rollout, and their values of the objective, if they have one."""
        self._episodes += len(episodes)
        for episode in episodes:
            if episode.choices is not None:
                self._choices = (self._choices or 0) + episode.choices
        if len(self._values) < 2:
            self._values.update(values)

    def remark(self, objective: str, level: bool) -> str:
        """Return why there was nothing to learn, or "". ``level``: baselines do not differ either."""
        if self._choices == 0:
            episodes = f"{self._episodes:,} episodes"
            return f"in none of {episodes} was there a decision in which more than one action was allowed"
        if self._episodes > 1 and len(self._values) == 1 and level:
            return f"{objective} was {self._values.copy().pop():.6g} in all {self._episodes:,} episodes, whatever was played"
        return ""


class Training:
    """Training that can be run; its parts can also be used one by one.

    Parameters: the configuration, the folder for its files, and an executor for episodes; without one they are played
    in this process.
    """

    def __init__(self, config: Config, folder: str | Path, executor: Executor | None = None):
        self.config = config
        self.folder = Path(folder)
        self.executor = executor
        self.make_environment = MakeEnvironment.of(config.environment)
        environment = self.make_environment()
        self.objective = config.objective or objective_of(environment)
        self.network, self.algorithm = _learner(config, environment)
        _warn_of_returns(config, environment, self.algorithm)
        # A wrong warm start is refused before all else.
        self._lessons = None if config.warm_start is None else _teacher(config, config.warm_start, self.gamma)
        self.validation = Validation(config, environment, self.objective)
        self.iteration = 0
        self.steps = 0
        self.best_score = float("inf")
        self.best: dict[str, Any] = {}
        self.seen = Familiarity()
        self._played, self._began_at = _Played(), 0  # a resumed training knows only its later episodes

    def run(self, begun: bool = False, progress: bool = False) -> TrainingSummary:
        """Train to the last iteration, from the beginning or from the checkpoint. Ctrl-C leaves the last checkpoint.

        Raises InputError while another program writes to the folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with held(self.folder):
            if begun:
                self.load()
            log = Log(self.folder, kept=self.iteration if begun else None)
            self._started = time.perf_counter()
            with Progress("train", self.config.iterations, "iterations", self.iteration, progress) as shown:
                if not begun:
                    write_config(self.config, self.folder / CONFIG)
                    # Before the first update: learn from the teacher, see what that is worth, and have something to resume
                    # from.
                    numbers: dict[str, float] = {"iteration": 0}
                    if self.config.warm_start is not None:
                        shown.reach(0, learning=f"from {self.config.warm_start.teacher}")
                        numbers |= self.imitate(self.config.warm_start)
                    log.write(self._log_of(numbers | self.validate(), shown))
                    self.save()
                while not self.is_over:
                    log.write(self._log_of(self.step(), shown))
                    if self.iteration % self.config.checkpoint_every == 0 or self.is_over:
                        self.save()
            return self.summary()

    @property
    def is_over(self) -> bool:
        """Return whether the last iteration is done, or too many validations in a row have found no better agent."""
        keys, since = self.config.validation, self.iteration - self.best.get(IMPROVED_AT, 0)
        is_in_vain = keys.patience is not None and since >= keys.patience * keys.every
        return self.iteration >= self.config.iterations or is_in_vain

    def imitate(self, keys: WarmStartKeys) -> dict[str, float]:
        """Learn from a teacher's decisions, in as many of its episodes as the keys say (one, if all are the same)."""
        teacher, options = self._lessons or _teacher(self.config, keys, self.gamma)
        environment = self.make_environment()
        seeds = episode_seeds(self.config.seed, _BEFORE_ALL, 1 if self.validation.fixed else keys.episodes)
        if isinstance(environment.episodes, Days):
            # A teacher's days are not drawn: none comes twice, and trainings with other seeds have the same.
            key = (self.make_environment, keys.teacher, keys.episodes, self.config.network)
            if key not in _LESSONS:
                _LESSONS.clear()
                days = spread(environment.episodes.all(), keys.episodes)
                _LESSONS[key] = [
                    demonstrate(environment, teacher, self.network, day.seed, {"episode": day}) for day in days
                ]
            episodes = list(_LESSONS[key])
        else:
            episodes = [demonstrate(environment, teacher, self.network, seed) for seed in seeds]
        self._note(episodes)
        numbers = imitate(self.network, episodes, options, self.config.seed)[-1]
        constraint = getattr(self.algorithm, "constraint", None)
        if constraint is not None:  # teach its critic, too: an untaught critic would give false advantages
            constraint.learn(episodes, _BEFORE_ALL, self.gamma, 1.0, options.epochs, options.minibatch)
        for corrected in range(1, keys.rounds + 1):
            own = [
                demonstrate(environment, teacher, self.network, episode_seed, played_by=greedy(self.network))
                for episode_seed in episode_seeds(self.config.seed, _BEFORE_ALL - corrected, keys.episodes)
            ]
            episodes += own
            self._note(own)
            numbers = imitate(self.network, episodes, options, self.config.seed + corrected)[-1]
        return numbers

    @property
    def gamma(self) -> float:
        """Return the discount that the algorithm learns with."""
        return float(self.algorithm.options.gamma)

    def step(self) -> dict[str, float]:
        """Run one iteration: a rollout, an update, perhaps a validation; return the numbers to be logged."""
        started, config = time.perf_counter(), self.config
        seeds = episode_seeds(config.seed, self.iteration, config.episodes)
        episodes = collect(self.make_environment, self.network, seeds, group=config.group, executor=self.executor)
        signals = [(what, episode) for what in ("rewards", "costs") for episode in episodes]
        for what, episode in signals:
            wild = [number for number in getattr(episode, what).tolist() if not math.isfinite(number)]
            if wild:
                where = f"iteration {self.iteration + 1}, {what} of {episode.name or 'an episode'}"
                raise InputError(where, "finite numbers, for weights learned of others are none", wild[0])
        self._note(episodes)
        # A mean over jobs has no value if an episode was cut off before any job had ended.
        values = [self.validation.value(episode) for episode in episodes if self.validation.has_value(episode)]
        self._played.note(episodes, values)
        numbers = self._rollout_numbers(episodes, values) | self.algorithm.update(episodes, self.iteration)
        self.iteration += 1
        self._refuse_wild_weights()
        decisions = sum(map(len, episodes))
        self.steps += decisions
        if self.iteration % config.validation.every == 0 or self.iteration == config.iterations:
            numbers |= self.validate()
        numbers |= {
            "iteration": self.iteration,
            "time/fps": decisions / (time.perf_counter() - started),
            "time/total_timesteps": self.steps,
            "time/total_episodes": self.iteration * config.episodes,
        }
        return numbers

    def _refuse_wild_weights(self) -> None:
        """Raise InputError for weights that are no finite numbers, before they are logged, saved or tried."""
        for name, weight in self.network.weights().items():
            if not np.isfinite(weight).all():
                where = f"seed {self.config.seed}, iteration {self.iteration}, {name}"
                wrong = float(weight[~np.isfinite(weight)][0])
                raise InputError(where, "weights that are finite numbers; lower learning rates may keep them so", wrong)

    def _note(self, episodes: Sequence[Trajectory]) -> None:
        """Remember the observations of the network; one episode in eight is enough."""
        for episode in episodes[::_EPISODES_NOTED]:
            self.seen.note(episode.kept)

    def validate(self) -> dict[str, float]:
        """Play the validation episodes with greedy actions; keep the agent if none so far was better, or if the last is kept.

        Of equally good agents the last is kept, since it has learned the longest and varies least with drawn actions.
        If the algorithm averages weights, the average is validated, and kept.
        """
        learning = self.network.weights()
        averaged = self.algorithm.averaged()
        if averaged is not None:
            self.network.load_weights(averaged)
        self._refuse_wild_weights()
        found = self.validation.of(self.network, self.make_environment, self.executor)
        if not self.best or found.score <= self.best_score or self.config.validation.keep == "last":
            improved_at = (
                self.iteration if found.score < self.best_score else self.best.get(IMPROVED_AT, self.iteration)
            )
            self.best_score = min(found.score, self.best_score)
            self.best = {"iteration": self.iteration, IMPROVED_AT: improved_at} | found.facts()
            agent = _agent(self.config, self.network, self.objective, found.score, self.best, self.seen)
            agent.save(self.folder / BEST)
        if averaged is not None:
            self.network.load_weights(learning)
        numbers = found.numbers()
        if found.baseline:
            numbers["validation/best"] = self.best["reduction"]
        return numbers

    def summary(self) -> TrainingSummary:
        """Summarise the training as it stands."""
        return TrainingSummary(
            folder=str(self.folder),
            seed=self.config.seed,
            iterations=self.iteration,
            best_iteration=self.best["iteration"],
            objective=self.objective,
            value=self.best["value"],
            baseline=self.best["baseline"],
            baseline_value=self.best["baseline_value"],
            reduction_by_episode=self.best["reduction"],
            baselines=self.validation.baselines,
            remark=self._played.remark(self.objective, self.validation.is_level) if self._began_at == 0 else "",
            over=float(self.best.get("over", 0.0)),
            unlike=str(self.best.get("unlike", "")),
            broken=str(self.best.get("broken", "")),
            untrained=self.best["iteration"] == 0 < self.iteration and self.config.warm_start is None,
            values=tuple(self.best.get("values", ())),
            baseline_values=tuple(self.best.get("baseline_values", ())),
        )

    # ------------------------------------------------------------------ checkpoints

    def save(self) -> None:
        """Write a checkpoint: everything that the next iteration depends on, whole or not at all."""
        tree = {
            "version": __version__,
            "iteration": self.iteration,
            "steps": self.steps,
            "best_score": self.best_score,
            "best": self.best,
            "seen": self.seen.facts(),
            "weights": self.network.weights(),
            "algorithm": self.algorithm.state(),
        }
        checkpoints.save(self.folder / CHECKPOINT, STATE, tree)

    def load(self) -> None:
        """Load the checkpoint. Raises FormatError when it is not one of this training."""
        path = self.folder / CHECKPOINT
        tree = checkpoints.load(path, STATE)
        try:
            self.iteration, self.steps = int(tree["iteration"]), int(tree["steps"])
            self.best_score, self.best = float(tree["best_score"]), dict(tree["best"])
            self._began_at = self.iteration
            self.seen = Familiarity(tree.get("seen"))
            self.network.load_weights(tree["weights"])
            self.algorithm.load_state(tree["algorithm"])
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(path / f"{STATE}.json", "a checkpoint of this training", error) from None

    # ------------------------------------------------------------------ numbers

    def _rollout_numbers(self, episodes: Sequence[Trajectory], values: Sequence[float]) -> dict[str, float]:
        rewards = [episode.reward for episode in episodes]
        numbers = {
            "rollout/ep_rew_mean": float(np.mean(rewards)),
            "rollout/ep_rew_min": min(rewards),
            "rollout/ep_rew_max": max(rewards),
            "rollout/ep_len_mean": float(np.mean([len(episode) for episode in episodes])),
        }
        if len(episodes[0].costs):
            numbers["rollout/ep_cost_mean"] = float(np.mean([episode.cost for episode in episodes]))
        if values:
            numbers |= {"rollout/objective_mean": float(np.mean(values)), "rollout/objective_min": min(values)}
        if values and self.validation.single_baseline:
            reductions = [100.0 * (1.0 - value / self.validation.single_baseline) for value in values]
            numbers |= {"rollout/reduction_mean": float(np.mean(reductions)), "rollout/reduction_max": max(reductions)}
        return numbers

    def _log_of(self, numbers: Mapping[str, float], progress: Progress) -> dict[str, float]:
        """Return the numbers with the time, and show the main ones."""
        progress.reach(self.iteration, **in_brief(numbers))
        return {"time/elapsed_s": time.perf_counter() - self._started} | dict(numbers)


def untrained(config: Config) -> Agent:
    """Return the agent with which a training of that configuration begins, before any update and any teacher."""
    environment = MakeEnvironment.of(config.environment)()
    with one_thread():
        network = _network(config, environment)
    return _agent(config, network, config.objective or objective_of(environment), score=0.0, facts={"iteration": 0})


def last(folder: str | Path) -> Agent:
    """Return the agent of a training's last checkpoint, whichever agent validation has kept.

    Raises FormatError where there is no training.
    """
    agent = untrained(read_config(Path(folder) / CONFIG))
    tree = checkpoints.load(Path(folder) / CHECKPOINT, STATE)
    agent.weights = dict(tree["weights"])
    agent.facts["iteration"] = int(tree["iteration"])
    return agent


def _learner(config: Config, environment: SchedulingEnv) -> tuple[Network, Algorithm]:
    """Make the network and its algorithm. Raises InputError, also for classes of a constraint without any workload."""
    with one_thread():
        network = _network(config, environment)
        algorithm = make_algorithm(config, network)
    if config.warm_start is not None and config.warm_start.rounds:
        greedy(network)  # a network that cannot be corrected is refused before anything is played
    constraint = config.algorithm.constraint
    if constraint is not None and constraint.classes:
        check_classes(constraint.classes, (jobs.name for _, jobs in inputs_of(environment.episodes)))
    return network, algorithm


def _network(config: Config, environment: SchedulingEnv) -> Network:
    """Make the network in its initial state."""
    actions = int(environment.maker.action_space.n)
    return make_network(config.network, environment.observation_space, actions, config.seed)


def _agent(
    config: Config,
    network: Network,
    objective: str,
    score: float,
    facts: Mapping[str, Any],
    seen: Familiarity | None = None,
) -> Agent:
    told = {"version": __version__, "seed": config.seed, "objective": objective, "score": score}
    environment = config.environment.model_dump(mode="json", exclude_none=True)
    return Agent(environment, config.network, network.weights(), told | dict(facts), seen.facts() if seen else None)


def _teacher(config: Config, keys: WarmStartKeys, gamma: float) -> tuple[Teacher, ImitationOptions]:
    """Make the teacher and the options of the imitation."""
    kind = config.environment.kind
    if kind not in TEACHERS:
        raise InputError("warm_start", f"an environment of kind {' or '.join(TEACHERS)}", kind)
    given = {"gamma": gamma} | keys.options
    return TEACHERS[kind](keys.teacher), make_hyper_parameters(ImitationOptions, given, "warm_start, options")


def last_iteration(folder: str | Path) -> int:
    """Return the last iteration in the log of a training; 0 where there is none yet."""
    try:
        rows = read_metrics(folder)
    except OSError:
        return 0
    return int(rows[-1].get("iteration", 0)) if rows and (Path(folder) / CSV).exists() else 0
