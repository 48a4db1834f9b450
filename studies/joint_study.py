"""Table of docs/results/agents.md: ``python -m studies.joint_study [AGENTS]… [--draws N] [--plays N]``.

Agents that start jobs *and* put nodes to sleep, by ``examples/training/jobs-and-nodes.yaml``, beside rules that are a
scheduler and a power policy. The draws by which validation chose the agents choose a rule, too: the one of least score. They
also say which rules no other beats in waste and wait. All are tested on other draws. Untrained agents and one that plays
at random show what the environment gives away. The score is that of the training: joules wasted by core, and the price
of waiting, over what ``easy + timeout:300`` costs on the same jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import click
import numpy as np

from cluster_sim import Simulation, Workload
from cluster_sim.files.source import PLUS
from cluster_sim.records.comparison import Effect
from learning.tasks.environment import SchedulingEnv
from learning.tasks.episodes import Episode
from learning.training.agent import Agent, find_agents
from learning.training.configuration import Config, read_config
from learning.training.inputs import FreshWorkloads, environment_on, training_episodes
from learning.training.training import untrained
from learning.training.validation import as_many, source_of
from schedulers.policy.policy import make_pair

CONFIG = Path(__file__).resolve().parents[1] / "examples" / "training" / "jobs-and-nodes.yaml"
PRICE_W = 95.0
REFERENCE = "easy + timeout:300"
SCHEDULERS = ("easy", "saf-easy", "easy:order=saf", "easy:order=sjf", "list:saf/first,blocking=no", "list:saf/first")
POWER = (
    *("always-on", "timeout:0", "timeout:60", "timeout:300", "timeout:600", "timeout:1200"),
    *("summed-stretch:0.05", "summed-stretch:0.1", "summed-stretch:0.2", "summed-stretch:0.4"),
)
RULES = tuple(PLUS.join(pair) for pair in product(SCHEDULERS, POWER))
TESTED_FROM = 90_001
"""Seed of the generator for the first draw that is tested on."""
METRICS = {
    "energy_j": ("energy, MJ", 1e-6, 1),
    "energy_waste_by_core_j": ("waste, MJ", 1e-6, 2),
    "mean_wait_s": ("mean wait, s", 1.0, 0),
    "mean_stretch": ("mean stretch", 1.0, 3),
    "node_switches": ("switches", 1.0, 1),
}
COST = "cost_j"
UNTRAINED = 5
"""Agents with random weights, by seed."""

Player = Callable[[SchedulingEnv, dict[str, np.ndarray]], int]
Row = dict[str, float]


def measured(metrics: dict[str, float], jobs: int) -> Row:
    """Return the metrics of a run, and its cost: J wasted and the price of all waits."""
    row = {name: float(metrics[name]) for name in METRICS}
    return row | {COST: row["energy_waste_by_core_j"] + PRICE_W * jobs * row["mean_wait_s"]}


def run_rule(spec: str, episodes: Iterable[Episode]) -> list[Row]:
    """Return a row of a rule for each episode."""
    scheduler, power = make_pair(spec)
    runs = [
        Simulation(each.platform, each.workload, scheduler, power, each.seed, **each.rules()).run(warn=False)
        for each in episodes
    ]
    return [measured(run.metrics, len(run.jobs)) for run in runs]


def play(env: SchedulingEnv, choose: Player, episodes: Iterable[Episode]) -> list[Row]:
    """Return a row of an agent for each episode."""
    rows = []
    for episode in episodes:
        observation, _ = env.reset(seed=0, options={"episode": episode})
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(choose(env, observation))
            over = terminated or truncated
        rows.append(measured(info["metrics"], len(episode.workload)))
    return rows


def likeliest(agent: Agent, env: SchedulingEnv) -> Player:
    """Return a player that takes an agent's most probable action."""
    network = agent.build(env.maker)
    return lambda _, observation: int(network.decide(observation)[0])


def at_random(seed: int) -> Player:
    """Return a player that takes any allowed action, each as likely."""
    rng = np.random.default_rng(seed)
    return lambda env, _: int(rng.choice(np.flatnonzero(env.action_masks())))


def draws_to_test(config: Config, draws: int) -> list[Episode]:
    """Return the draws to test on: none is one of those that were learned from or chosen by."""
    spec = str(config.environment.workload)
    source = training_episodes(config.environment)
    assert source is not None
    spec = FreshWorkloads.of(spec).spec
    jobs = [Workload.read(f"{spec},seed={TESTED_FROM + number}") for number in range(draws)]
    return [Episode(source.platform, each, name=f"draw {TESTED_FROM + i}") for i, each in enumerate(jobs)]


def ratios(rows: Sequence[Row], reference: Sequence[Row]) -> np.ndarray:
    """Return the cost of each episode over the reference's."""
    return np.array([own[COST] / other[COST] for own, other in zip(rows, reference, strict=True)])


def run_rules(rules: Iterable[str], episodes: Sequence[Episode]) -> dict[str, list[Row]]:
    """Return a row of each rule for each episode."""
    return {rule: run_rule(rule, episodes) for rule in rules}


def cheapest(found: Mapping[str, Sequence[Row]], reference: Sequence[Row]) -> tuple[str, float]:
    """Return the rule of least mean cost over that of the reference, and that ratio."""
    scores = {rule: float(ratios(rows, reference).mean()) for rule, rows in found.items()}
    best = min(scores, key=scores.__getitem__)
    return best, scores[best]


def front(found: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return the rules that no other one beats in mean waste and mean wait, the least waste first."""
    means = {
        rule: tuple(float(np.mean([row[name] for row in rows])) for name in ("energy_waste_by_core_j", "mean_wait_s"))
        for rule, rows in found.items()
    }
    left: list[str] = []
    for rule in sorted(means, key=means.__getitem__):
        if not left or means[rule][1] < means[left[-1]][1]:
            left.append(rule)
    return left


def line(name: str, several: Sequence[Sequence[Row]], reference: Sequence[Row]) -> str:
    """Return a row of the table: means over episodes and over players; of several players the least and the most score."""
    scores = [float(ratios(rows, reference).mean()) for rows in several]
    score = f"{np.mean(scores):.3f}"
    if len(scores) > 1:
        score += f" ({min(scores):.3f} to {max(scores):.3f})"
    cells = [score]
    for metric, (_, factor, digits) in METRICS.items():
        mean = np.mean([row[metric] for rows in several for row in rows])
        cells.append(f"{mean * factor:.{digits}f}")
    return f"| {name} | {' | '.join(cells)} |"


def against(rows: Sequence[Row], other: Sequence[Row], names: tuple[str, str]) -> str:
    """Return the change of the cost against another player, paired by draw, with its 95 % interval."""
    pair = tuple(np.array([row[COST] for row in each]) for each in (rows, other))
    return Effect.paired(COST, COST, "", names, pair, block="draw").in_percent()


def table(config: Config, folders: Sequence[str], draws: int, plays: int, rules: Sequence[str] = RULES) -> list[str]:
    """Return the lines of the table, and the comparisons with the rule that was chosen."""
    env = environment_on(config.environment, training_episodes(config.environment))
    chosen_by = as_many(source_of(config, env), config.validation.episodes)
    found = run_rules(rules, chosen_by)
    chosen, ratio = cheapest(found, run_rule(REFERENCE, chosen_by))
    episodes = draws_to_test(config, draws)
    reference = run_rule(REFERENCE, episodes)
    beside = run_rule(chosen, episodes)
    heads = [head for head, _, _ in METRICS.values()]
    lines = [f"| who | score | {' | '.join(heads)} |", "|---" * (2 + len(heads)) + "|"]
    lines.append(line(f"`{REFERENCE}`", [reference], reference))
    lines += [line(f"`{rule}`", [run_rule(rule, episodes)], reference) for rule in front(found) if rule != REFERENCE]
    lines.append(line(f"best of {len(rules)} rules, `{chosen}`", [beside], reference))
    if plays:
        lines.append(line("at random", [play(env, at_random(seed), episodes) for seed in range(plays)], reference))
    fresh = [untrained(config.model_copy(update={"seed": seed})) for seed in range(UNTRAINED if plays else 0)]
    if fresh:
        lines.append(line("untrained", [play(env, likeliest(agent, env), episodes) for agent in fresh], reference))
    said = [f"{chosen}: {ratio:.3f} on the draws that chose it"]
    for folder in folders:
        agents = [Agent.load(path) for path in find_agents(folder)]
        rows = [play(env, likeliest(agent, env), episodes) for agent in agents]
        lines.append(line(f"agents of {Path(folder).name}", rows, reference))
        lines.append(line("the best of them by validation", rows[:1], reference))
        for agent, own in zip(agents, rows, strict=True):
            change = against(own, beside, (folder, chosen))
            said.append(f"{Path(folder).name}, seed {agent.facts['seed']}: cost {change} against {chosen}")
    return [*lines, "", *said]


@click.command()
@click.argument("agents", nargs=-1, type=click.Path(exists=True, file_okay=False))
@click.option("--config", default=str(CONFIG), type=click.Path(exists=True), help="Configuration of the trainings.")
@click.option("--draws", default=40, type=click.IntRange(2), help="Draws to test on.")
@click.option(
    "--plays", default=3, type=click.IntRange(0), help="Plays of each draw at random; 0: nor untrained agents."
)
def main(agents: tuple[str, ...], config: str, draws: int, plays: int) -> None:
    """Print the table for the agents in these folders."""
    click.echo("\n".join(table(read_config(config), agents, draws, plays)))


if __name__ == "__main__":
    main()
