"""Rows of trained agents, for every paper in one place: declared by the papers, filled from folders that ``train`` left.

``cluster-sim reproduce NAME --agents FOLDER`` looks for ``FOLDER/NAME/ROW``; a row whose folder is not there, or not
yet trained, is listed as not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.reproduce.claims import Claim, at_least
from analysis.reproduce.paper import Measured, Part, Setting

if TYPE_CHECKING:
    from learning.episodes import Episode

SUMMARIES = ("min", "avg", "max")
"""As the tables head them: the reduction by the *least* consumption seen (so the greatest), the mean, the greatest one."""
NEEDS = "needs a trained agent: --agents FOLDER with {paper}/{row}, left by cluster-sim train"


@dataclass(frozen=True)
class AgentRow:
    """A row of a paper's table of agents.

    Attributes
    ----------
    name : of its folder.
    what : for people.
    cases : names of the inputs it is tested on; what they are the paper's module says.
    against : specs of the schedulers (or power policies) that it is compared with.
    """

    name: str
    what: str
    cases: tuple[str, ...]
    against: tuple[str, ...]


def agent_parts(paper: str, rows: Sequence[AgentRow], setting: Setting, episodes: str) -> list[Part]:
    """A part for each row whose agent is there. ``episodes``: ``module:function`` that makes a case's episode."""
    runs = 10 if setting.quick else 100
    found = []
    for row in rows:
        folder = trained(paper, row, setting)
        if folder is not None:
            arguments = {
                "paper": paper,
                "row": row.name,
                "folder": str(folder),
                "cases": list(row.cases),
                "against": list(row.against),
                "runs": runs,
                "episodes": episodes,
                "written": max(file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()),
            }
            found.append(Part(f"agent {row.name}", agent_rows, arguments, measures=(f"agent/{row.name}/",)))
    return found


def trained(paper: str, row: AgentRow, setting: Setting) -> Path | None:
    """The folder of a row's agent, if there is one."""
    if setting.agents is None:
        return None
    folder = setting.agents / paper / row.name
    places = (folder, folder / "best", *folder.glob("seed-*/best"))
    return folder if any((place / "agent.json").is_file() for place in places) else None


def left_out(paper: str, rows: Sequence[AgentRow], setting: Setting) -> dict[str, str]:
    """Why the values of rows without an agent are absent."""
    return {
        f"agent/{row.name}/": NEEDS.format(paper=paper, row=row.name)
        for row in rows
        if trained(paper, row, setting) is None
    }


def agent_rows(
    inputs: Path,
    paper: str,
    row: str,
    folder: str,
    cases: Sequence[str],
    against: Sequence[str],
    runs: int,
    episodes: str,
    written: int,
) -> Measured:
    """Test the agents in ``folder`` on each case: % less than each scheduler, in energy and EDP, and the greedy run.

    Values are named ``agent/ROW/CASE/AGAINST/METRIC/min|avg|max|greedy``. ``written`` is when the agents were, so that a
    part is computed again after more training.
    """
    from importlib import import_module

    from learning.evaluation import evaluate

    module, _, function = episodes.partition(":")
    make: Callable[[Path, str], Episode] = getattr(import_module(module), function)
    found = Measured()
    for case in cases:
        tested = evaluate(folder, [make(inputs, case)], ("energy_j", "edp_js"), tuple(against), runs, workers=1)
        found.values |= dict(_values(f"agent/{row}/{case}", tested.table().to_dict("records")))
        found.runs += len(tested.runs) + len(tested.heuristics)
    return found


def _values(start: str, table: Sequence[Mapping[Any, Any]]) -> Iterator[tuple[str, float]]:
    """The rows of an evaluation's table by name. The papers' *min* is of consumption: the greatest reduction."""
    metrics = {"energy_j": "energy", "edp_js": "EDP"}
    for line in table:
        name = f"{start}/{line['against']}/{metrics[str(line['metric'])]}"
        yield f"{name}/min", float(line["max"])
        yield f"{name}/avg", float(line["mean"])
        yield f"{name}/max", float(line["min"])
        yield f"{name}/greedy", float(line["greedy_mean"])


def reductions(
    row: AgentRow, case: str, against: str, metric: str, published: Sequence[str], source: str, group: str
) -> list[Claim]:
    """Claims for the three published reductions (min, avg, max) of a row against one scheduler, each: no less than that.

    An agent that does better reproduces the claim, which is that so much can be reached; 2 points worse is luck.
    """
    return [
        Claim(
            f"{row.name}/{case}/{against}/{metric}/{summary}",
            f"{row.what}, {metric}: {summary} reduction against {against.removeprefix('list:')}"
            + (f", {case}" if len(row.cases) > 1 else ""),
            number,
            "%",
            source,
            f"agent/{row.name}/{case}/{against}/{metric}/{summary}",
            at_least(2.0),
            group=group,
        )
        for summary, number in zip(SUMMARIES, published, strict=True)
    ]


def both_reductions(
    row: AgentRow, case: str, against: str, published: Sequence[str], source: str, group: str
) -> list[Claim]:
    """The same of a row of six: min, avg, max of the energy, then of the EDP."""
    energy, edp = published[: len(SUMMARIES)], published[len(SUMMARIES) :]
    return [
        *reductions(row, case, against, "energy", energy, source, group),
        *reductions(row, case, against, "EDP", edp, source, group),
    ]
