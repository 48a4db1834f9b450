"""Lesson 9: an agent learns experiment 1 in a minute."""

from __future__ import annotations

import math
import traceback
from typing import TYPE_CHECKING, Any

from analysis.lessons.checks import Choice, Exercise, Number, Verdict
from cluster_sim.examples import case
from cluster_sim.extras import needed

if TYPE_CHECKING:
    from learning.tasks.job_node.environment import JobNode

EPISODES = 3


class Kilojoules(Exercise):
    """Exercise for a reward class, whose sum over an episode of experiment 1 with waiting is minus the energy, kJ."""

    def _judge(self, answer: Any) -> Verdict:
        missing = [name for name in ("begin", "leave", "passed", "value") if not hasattr(answer, name)]
        if not isinstance(answer, type) or missing:
            what = f"without {', '.join(missing)}" if missing else repr(answer)
            return Verdict(False, f"a class with begin, leave, passed and value is asked for, not one {what}")
        with needed("exercise 9.5"):
            from learning.tasks.job_node.environment import JobNode
            from learning.tasks.job_node.rewards import rewards
        name = "exercise-9.5"
        rewards.register(name)(answer)
        experiment = case("experiment-1")
        environment = JobNode(experiment.platform, experiment.workload, reward=name, wait="completion", num_jobs=6)
        try:
            sums = self._sums(environment)
        except Exception as error:
            # A student's code may raise anything: the verdict tells it, with its line.
            last = traceback.extract_tb(error.__traceback__)[-1]
            return Verdict(False, f"it raises {type(error).__name__}: {error} (in {last.name}, line {last.lineno})")
        for number, (found, energy_kj) in enumerate(sums, 1):
            if not math.isclose(found, -energy_kj, rel_tol=1e-9):
                story = f"in random episode {number} it adds up to {found:.6g}"
                return Verdict(False, f"{story}, and the run needed {energy_kj:.6g} kJ")
        return Verdict(True, "it adds up in every episode: who earns most has spent least.")

    def _sums(self, environment: JobNode) -> list[tuple[float, float]]:
        """Return for each episode the sum of its rewards, and its energy, kJ."""
        sums = []
        for seed in range(EPISODES):
            _, info = environment.reset(seed=seed)
            environment.action_space.seed(seed)
            total, over = 0.0, False
            while not over:
                action = environment.action_space.sample(info["action_mask"])
                _, reward, terminated, truncated, info = environment.step(action)
                total, over = total + float(reward), terminated or truncated
            sums.append((total, environment.metrics()["energy_j"] / 1000))
        return sums


EXERCISES: tuple[Exercise, ...] = (
    Number(
        "9.1",
        20.1,
        20.3,
        "(3575.13 - 2852.83) / 3575.13 = 20.2 %: nothing that never waits can be better.",
        [
            "A reduction is relative to what is reduced: the heuristic's 3575.13 J.",
            "(3575.13 - 2852.83) / 3575.13, in %.",
        ],
        {25.32: "a reduction is relative to the heuristic, a gap to the optimum", 0.202: "in %, please"},
        " %",
    ),
    Choice(
        "9.2",
        "c",
        {
            "a": "it sees features of the jobs and nodes, and has no list of the schedules",
            "b": "the reward is minus the energy of each step; it is not shown the optimum",
            "c": "it has seen these six jobs, again and again, and nothing else: it may do badly on any others",
        },
        [
            "On which jobs was it trained, and on which was it tested?",
            "Would you trust a student who has seen the questions?",
        ],
    ),
    Choice(
        "9.3",
        "b",
        {
            "a": "one seed may be lucky; and the best of many always is",
            "b": "several seeds, all of them shown, say what to expect of the next training",
            "c": "the first seed is one seed: what the others would do is not known",
        },
        ["How much do the curves of two seeds differ?", "What would you get if you trained once more?"],
    ),
    Choice(
        "9.4",
        "c",
        {
            "a": "the return rises: it learns just what it is paid for",
            "b": "another seed finds other ways to make points by waiting",
            "c": "it adds up to the number of decisions, and the agent makes that large by waiting",
        },
        ["Does the agent get more and more of what it is paid for?", "What do the rewards of an episode add up to?"],
    ),
    Kilojoules(
        "9.5",
        [
            "value is asked at every decision: how much has the energy grown since the last time?",
            "Note in begin that nothing has been counted yet (self.counted = 0.0), and in value what has been.",
            "before, self.counted = self.counted, view.energy_j; then the reward is (before - self.counted) / 1000.",
        ],
    ),
)
