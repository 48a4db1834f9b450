"""What learning adds: agents beside what is reached without learning, a line for each row of agents and each case.

The claims hold agents against print. Here they are held against what costs less: trying as often at random, the scheduler
that they learned from, a rule of thumb. An agent that is tested on the jobs it was trained on, and reaches what the best of as
many random tries reaches, has learned one schedule by heart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from analysis.reproduce.claims import Values
from analysis.reproduce.controls import RANDOM_PLAY, TEACHER, UNTRAINED
from cluster_sim.amounts import NOTHING

if TYPE_CHECKING:
    from analysis.reproduce.paper import AgentRow

TITLE = "What learning adds"
LEAD = (
    "Reduction in % of what each agent is trained to reduce, against the scheduler named; medians of trainings (least to most). "
    "Random search is the best of as many random episodes as the training has; the greedy rule learns nothing."
)
HEADINGS = (
    "agent",
    "jobs of the test",
    "reduction of",
    "against",
    "likeliest actions",
    "drawn actions, mean",
    "drawn actions, best run",
    "untrained, mean",
    "random play, mean",
    "random search",
    "teacher",
    "greedy rule",
    "so",
)
ALIKE = 0.1
"""Points of % within which two reductions are called equal."""


def lines(rows: Sequence[AgentRow], values: Values) -> Iterator[tuple[str, ...]]:
    """Yield a line under HEADINGS for each row and case that was measured."""
    for row in rows:
        metric = values.get(f"control/{row.name}/metric")
        if metric is None:
            continue
        for case in row.cases:
            yield _line(row, case, str(metric), values)


def _line(row: AgentRow, case: str, metric: str, values: Values) -> tuple[str, ...]:
    what = f"{row.name}/{case}/{row.against[0]}/{metric}"
    reached = {name: values[f"agent/{what}/{name}"] for name in ("greedy", "avg", "min")}
    controls = {
        "untrained": values[f"control/{what}/avg/{UNTRAINED}"],
        "random": values[f"control/{what}/avg/{RANDOM_PLAY}"],
        "search": values[f"control/{what}/min/{RANDOM_PLAY}"],
        "teacher": values[f"control/{what}/avg/{TEACHER}"],
        "rule": values.get(f"rule/{what}/avg", []),
    }
    episodes = int(values[f"control/{row.name}/episodes"])
    return (
        row.what + (f", {case}" if len(row.cases) > 1 else ""),
        "others (out-of-sample)" if row.out_of_sample else "the same (in-sample)",
        metric,
        row.against[0].removeprefix("list:"),
        *(_shown(reached[name]) for name in ("greedy", "avg", "min")),
        _shown(controls["untrained"]),
        _shown(controls["random"]),
        f"{_shown(controls['search'])} in {episodes}",
        _shown(controls["teacher"]),
        _shown(controls["rule"]),
        said(reached, controls, episodes, row.out_of_sample),
    )


def said(
    reached: Mapping[str, Sequence[float]], controls: Mapping[str, Sequence[float]], episodes: int, out_of_sample: bool
) -> str:
    """Say in words what follows from a line.

    ``reached`` by agents with their likeliest actions (``greedy``), on average (``avg``) and at best (``min``) with drawn ones;
    ``controls`` the same of those who have learned nothing.
    """
    found = []
    teacher = controls["teacher"]
    if teacher and abs(median(reached["greedy"]) - teacher[0]) <= ALIKE:
        found.append("plays as its teacher")
    if out_of_sample:
        more = median(reached["avg"]) - max([*controls["untrained"], *controls["random"]])
        found.append(
            f"{more:.2f} points more than the best of those who have learned nothing"
            if more > ALIKE
            else "no more than those who have learned nothing"
        )
    else:
        more = median(map(max, reached["greedy"], reached["min"])) - controls["search"][0]
        if more > ALIKE:
            found.append(f"learned by heart; {more:.2f} points more than the best of {episodes} random tries")
        elif more >= -ALIKE:
            found.append(f"best of {episodes}, learned by heart: as many random tries find as much")
        else:
            found.append(f"{-more:.2f} points less than the best of {episodes} random tries")
    if controls["rule"] and median(reached["greedy"]) < controls["rule"][0] - ALIKE:
        found.append("less than the greedy rule")
    return "; ".join(found)


def _shown(numbers: Sequence[Any]) -> str:
    if not numbers:
        return NOTHING
    middle = f"{median(numbers):.2f}"
    return middle if len(numbers) == 1 else f"{middle} ({min(numbers):.2f} to {max(numbers):.2f})"
