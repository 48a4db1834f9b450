"""What the paper says of its agent, beside the rows that its authors released and the agents trained here."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

from analysis.reproduce.claims import AT_MOST, HOLDS, MORE, Claim, Kind, Values, points
from analysis.reproduce.controls import UNSEEN
from analysis.reproduce.deepshutdown.agents import BESIDE, BUSY, LIMIT, ORDINARY, ROW, RULE
from analysis.reproduce.deepshutdown.as_run import as_run_claims

FEW = (
    "the printed one is a mean over all days of four clusters; the released days of Taurus are mostly of groups 4 and 5"
)
HOW_RELEASED = "rows that the authors released of their agent, against their Timeout (1), which is T(0); by core"
HOW_OURS = "by core; over the seeds of their training"
RELEASED = "the agent as published: the rows that its authors released (in sample: 48 days that it was trained on)"
OUT_OF_SAMPLE = (
    "our default agent on the 48 busy days (out of sample: each day played by agents that have not seen it; the paper's means "
    "are in sample but for a fifth of the days)"
)
ORDINARY_GROUP = (
    "our default agent on ordinary days (out of sample: every twentieth of the 1,357 days that it was not trained on)"
)
# §5.4: group → (against, % that DS wastes less).
BY_GROUP = (
    (1, "OR*", "-2.5"), (1, "T(0)", "13"), (1, "T(1)", "25.4"), (1, "T(5)", "51"), (2, "OR*", "-12.5"), (3, "T(0)", "10.8"),
    (3, "T(5)", "44"), (3, "OR*", "-18"), (4, "OR*", "-12"), (4, "T(0)", "18"), (5, "OR*", "18"), (5, "T(0)", "26.7"),
    (5, "T(1)", "34.8"), (5, "T(5)", "56.1"),
)  # fmt: skip
# Abstract and §1: (against, metric, % that DS has less, in words).
HEADLINE = (
    ("T(0)", "waste", "11.7", "DS wastes less than T(0)"),
    ("T(0)", "switches", "17.9", "DS switches less than T(0)"),
    ("T(5)", "waste", "46", "DS wastes less than T(5)"),
    ("T(5)", "switches", "-4", "DS switches less than T(5) (the paper's: 4 % more)"),
)


def agent_claims() -> list[Claim]:
    """Return all claims about the agent.

    They rest on its authors' rows, and on our agents on busy and ordinary days that these have not seen. Those on
    behaviour are what §6.1 says of the jobs that DS delays.
    """
    start, timeout = f"agent/{ROW.name}", "Taurus, 48 busy days/T(0)"
    gaps = ("0-5 min", "5-60 min", "> 60 min")
    behaviour = [
        Claim("fig-7-agent", "agents trained here: slowdown diminishes with the time since the submission before",
              "yes", "", "Fig. 7, §6.1", lambda v: v[f"{start}/slowdown {gaps[0]}"] > v[f"{start}/slowdown {gaps[1]}"]
              > v[f"{start}/slowdown {gaps[2]}"], HOLDS, kind=Kind.OURS, group=OUT_OF_SAMPLE),
        Claim("fig-8-agent", "agents trained here: the most slowed-down jobs are shorter than T(0)'s (mean logarithm)",
              "yes", "", "Fig. 8, §6.1",
              lambda v: v[f"{start}/run time of the slowest"] < v[f"{timeout}/run time of the slowest"],
              HOLDS, kind=Kind.OURS, group=OUT_OF_SAMPLE),
    ]  # fmt: skip

    def less(values: Values, group: int | str, column: str = "waste") -> float:
        ds, timeout = (values[f"released/{name}/{column} {group}"] for name in ("DeepShutdown", "Timeout (1)"))
        return float(100.0 * (1.0 - ds / timeout))

    found = [
        Claim("headline-T0", "DS wastes less than T(0)", "11.7", "%", "abstract", lambda v: less(v, "all"), points(5),
              how=HOW_RELEASED, reason=FEW, group=RELEASED),
        Claim("headline-T0-switches", "DS switches less than T(0)", "17.9", "%", "abstract",
              lambda v: less(v, "all", "switches"), points(5), how=HOW_RELEASED, reason=FEW, group=RELEASED),
        Claim("fig-6-group-3/T(0)", "on days of group 3 of Taurus DS is as efficient as T(0)", "0", "%", "Fig. 6, §5.4",
              lambda v: less(v, 3), points(5), how=HOW_RELEASED, reason="18 days of that group", group=RELEASED),
        Claim("rows", "released rows: the agent is better than both timeouts in mean waste", "yes", "", "released data",
              lambda v: v["released/DeepShutdown/waste all"]
              < min(v[f"released/Timeout ({n})/waste all"] for n in (1, 10)), HOLDS, kind=Kind.OURS, group=RELEASED),
    ]  # fmt: skip
    for group, against, number in BY_GROUP:
        if against == "T(0)":
            found.append(
                Claim(f"group-{group}/{against}", f"group {group}: DS wastes less than {against}", number, "%", "§5.4",
                      lambda v, g=group: less(v, g), points(5), how=HOW_RELEASED, reason=FEW, group=RELEASED)  # type: ignore[misc]
            )  # fmt: skip
    return [
        *found,
        *as_run_claims(
            [(metric, number, what) for against, metric, number, what in HEADLINE if against == "T(0)"],
            [(group, number) for group, against, number in BY_GROUP if against == "T(0)"],
        ),
        *_ours(BUSY, OUT_OF_SAMPLE),
        *_limits(BUSY, OUT_OF_SAMPLE),
        *behaviour,
        *_ours(ORDINARY, ORDINARY_GROUP),
        *_limits(ORDINARY, ORDINARY_GROUP),
    ]


def _ours(days: str, heading: str) -> list[Claim]:
    """Return the claims about our agents: the headline, and on the busy days the percentages by group."""
    unseen = days == BUSY
    found = [
        _beside(
            f"{days}/headline-{against}-{metric}",
            what,
            number,
            "abstract",
            f"{days}/{against}/{metric}",
            heading,
            unseen,
        )
        for against, metric, number, what in HEADLINE
    ]
    if days == BUSY:
        found += [
            _beside(f"group-{group}/{against}/ours", f"group {group}: DS wastes less than {against}"
                    + (" (below 0: more)" if number.startswith("-") else ""), number, "§5.4",
                    f"group {group}/{against}/waste", heading, unseen)
            for group, against, number in BY_GROUP
        ]  # fmt: skip
    return found


def _beside(key: str, what: str, number: str, source: str, measure: str, heading: str, unseen: bool) -> Claim:
    row = ROW.name
    return Claim(
        key,
        f"{what}, an agent trained here",
        number,
        "%",
        source,
        f"agent/{row}/{measure}",
        MORE,
        how=HOW_OURS,
        kind=Kind.OUR_AGENT,
        controls={who: f"control/{row}/{measure}/{who}" for who in BESIDE},
        unseen=f"control/{row}/{measure}/{UNSEEN}" if unseen else "",
        group=heading,
    )


def _limits(days: str, heading: str) -> list[Claim]:
    """Return the claims that the limit on the mean stretch is kept, also on days unlike those of the training."""
    row, source = ROW.name, "docs/results/agents.md"
    limit: dict[str, Any] = {"tolerance": AT_MOST, "kind": Kind.OURS, "group": heading}
    return [
        Claim(f"{days}/limit", "mean stretch of a day, within the limit of the training", f"{LIMIT:g}", "", source,
              f"agent/{row}/{days}/stretch", how="mean over days; over the seeds of their training", **limit),
        Claim(f"{days}/rule-waste", "the one-number rule wastes no more than the agents (median of the seeds)", "yes", "", source,
              lambda v: mean(v[f"control/{row}/{days}/waste/{RULE}"]) <= median(v[f"agent/{row}/{days}/waste"]), HOLDS,
              kind=Kind.OURS, group=heading),
        Claim(f"{days}/rule-stretch", "the one-number rule keeps the limit on the stretch", f"{LIMIT:g}", "", source,
              f"control/{row}/{days}/stretch/{RULE}", **limit),
    ]  # fmt: skip
