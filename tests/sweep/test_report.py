"""The page of a sweep answers: who is best, by how much, in a sorted table and dot plots, with equals in one row."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.figures.figure_style import log_ticks
from analysis.pages.page import figure_html, page
from analysis.sweep.alternatives import alternatives, in_brief
from analysis.sweep.charts import dot_plot, factor_heatmap, factor_plot
from analysis.sweep.report import write_sweep_page
from cluster_sim.records.intervals import bootstrap_interval
from tests.support.browser import browse

SCHEDULERS = {"list:edf/first": 0.0, "easy": -50.0, "fcfs": 0.0, "list:first/first": 0.0, "<b>": 40.0}


def made_up(replications: int = 3, policies: tuple[str, ...] = ("always-on", "timeout:300")) -> pd.DataFrame:
    """Five schedulers, of which three are the same; under the second policy all wait 10 s longer."""
    rows = [
        {
            "replication": r,
            "scheduler": name,
            "power_policy": policy,
            "workload": "log.swf",
            "mean_wait_s": 60.0 + shift + 5.0 * r + 10.0 * place,
            "utilisation": min(1.0, 0.98 + 0.01 * r - shift / 1000),
        }
        for r in range(replications)
        for place, policy in enumerate(policies)
        for name, shift in SCHEDULERS.items()
    ]
    runs = pd.DataFrame(rows)
    runs.attrs["factors"] = ["workload", "scheduler", "power_policy"]
    return runs


def text_of(path: Path) -> str:
    """What stands in the page, without tags and figures."""
    body = re.sub(r"<script>.*?</script>", "", path.read_text().partition("<body>")[2], flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_equal_alternatives_are_one_row() -> None:
    """Three schedulers with the same figures everywhere make a group, named by the plainest; one run apart, they do not."""
    found = alternatives(made_up(), ["mean_wait_s", "utilisation"])
    assert found.groups == {
        "fcfs": ("fcfs", "list:first/first", "list:edf/first"),
        "easy": ("easy",),
        "<b>": ("<b>",),
    }
    assert found.factor == "scheduler"
    assert found.panels == ["always-on", "timeout:300"]
    assert found.order("mean_wait_s") == ["easy", "fcfs", "<b>"]
    assert found.label("fcfs") == "fcfs = list:first/first = edf"
    assert found.label("fcfs", 24) == "fcfs + 2 more"
    runs = made_up()
    runs.loc[runs["scheduler"].eq("fcfs") & runs["replication"].eq(2), "mean_wait_s"] += 1e-9
    assert len(alternatives(runs, ["mean_wait_s"]).groups) == 4


def test_names_of_equals_are_short() -> None:
    """What the orders of list scheduling have in common is said once."""
    assert in_brief(["list:a/first", "list:a/random", "list:a/high"]) == ["list:a/first", "random", "high"]
    assert in_brief(["easy", "conservative"]) == ["easy", "conservative"]


def test_means_over_a_factor_are_said(tmp_path: Path) -> None:
    """With more panels than a page holds, the factor with most values is averaged over, and the page says so."""
    runs = pd.concat([made_up().assign(load=load / 10) for load in range(1, 10)], ignore_index=True)
    runs.attrs["factors"] = ["workload", "scheduler", "power_policy", "load"]
    found = alternatives(runs, ["mean_wait_s"])
    assert (found.facets, found.averaged) == (("power_policy",), ("load",))
    page = write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html")
    assert "Means are over all values of load." in text_of(page)
    assert "over all values of power policy" in factor_plot(runs, "mean_wait_s", "load", "scheduler").layout.title.text


def test_a_heat_map_says_over_what_it_takes_means() -> None:
    """The title of two orders under two power policies names the third factor; under a single policy it does not."""
    names = {"easy": "list:smallest/random", "fcfs": "list:edf/random", "<b>": "list:smallest/first"}
    runs = made_up().assign(scheduler=lambda frame: frame["scheduler"].replace(names))
    runs = runs[runs["scheduler"].str.startswith("list:")]
    runs.attrs["factors"] = ["scheduler", "power_policy"]
    title = factor_heatmap(runs, "mean_wait_s", "job_order", "node_order").layout.title.text
    assert title.endswith("means, over all values of power policy")
    runs = runs[runs["power_policy"] == "always-on"]
    assert factor_heatmap(runs, "mean_wait_s", "job_order", "node_order").layout.title.text.endswith("means")


def test_few_replications_are_dots() -> None:
    """Three or four replications: each a dot and their mean a line, no interval; the least on top, and nobody coloured."""
    assert all(
        trace.error_x.array is None for trace in dot_plot(alternatives(made_up(4), ["mean_wait_s"]), "mean_wait_s").data
    )
    figure = dot_plot(alternatives(made_up(), ["mean_wait_s"]), "mean_wait_s")
    assert list(figure.layout.yaxis.categoryarray)[-1] == "easy"
    assert "&lt;b&gt;" in figure.layout.yaxis.categoryarray
    assert all(trace.error_x.array is None for trace in figure.data)
    assert not [trace for trace in figure.data if trace.marker.color == "#0072B2"]
    assert list(figure.data[0].x)[:3] == [10.0, 15.0, 20.0]
    assert figure.layout.xaxis.title.text == "mean wait [s]"
    assert [annotation.text for annotation in figure.layout.annotations] == ["always-on", "timeout:300"]


def tied(replications: int = 5) -> pd.DataFrame:
    """As made up, but easy is now 2 s below, now 2 s above fcfs: on average a little below, and not told apart."""
    runs = made_up(replications, ("always-on",))
    swing = np.where(runs["replication"] % 2 == 0, -2.0, 2.0)
    base = 60.0 + 5.0 * runs["replication"]
    return runs.assign(mean_wait_s=runs["mean_wait_s"].where(runs["scheduler"] != "easy", base + swing))


def test_only_who_is_told_apart_is_coloured() -> None:
    """In blue the one that is shown to be least; those that are not told apart from the least mean are open circles."""
    figure = dot_plot(alternatives(made_up(5, ("always-on",)), ["mean_wait_s"]), "mean_wait_s")
    assert [list(trace.y) for trace in figure.data if trace.marker.color == "#0072B2"] == [["easy"]]
    assert not [trace for trace in figure.data if trace.marker.symbol == "circle-open"]
    figure = dot_plot(alternatives(tied(), ["mean_wait_s"]), "mean_wait_s")
    assert not [trace for trace in figure.data if trace.marker.color == "#0072B2"]
    (open_circles,) = (trace for trace in figure.data if trace.marker.symbol == "circle-open")
    assert [name.split(" =")[0] for name in open_circles.y] == ["easy", "fcfs"]


def test_ties_are_marked_as_such_on_the_page(tmp_path: Path) -> None:
    """By hand: easy is below fcfs by 2, -2, 2, -2 and 2 s, 0.4 ± 2.7; nobody is bold or in blue."""
    page = write_sweep_page(tied(), ["mean_wait_s"], tmp_path / "page.html")
    assert (
        "Mean wait: no difference shown between EASY backfilling (1 min 10 s) and FCFS + 2 more (1 min 10 s), "
        "over 5 replications; next &lt;b&gt;, +58 ± 3.9 %."
    ) in text_of(page)
    rows = re.findall(r"<tr><th scope=\"row\">([^<\s]+).*?</th>(.*?)</tr>", page.read_text(), re.DOTALL)[:3]
    assert [name for name, _ in rows] == ["EASY", "FCFS", "&lt;b&gt;"]
    assert rows[0][1].startswith('<td class="tied" ')
    assert rows[1][1].startswith('<td class="tied" ')
    assert "≈" in rows[1][1]
    assert 'class="best"' not in page.read_text()
    assert "Open circles: not told apart from the best." in page.read_text()


@pytest.mark.parametrize("metric", ["mean_wait_s", "utilisation"])
def test_the_best_is_the_first_row(metric: str, tmp_path: Path) -> None:
    """The least wait is on top, and the largest utilisation."""
    page = write_sweep_page(made_up(policies=("always-on",)), [metric], tmp_path / "page.html").read_text()
    rows = re.findall(r"<tr><th scope=\"row\">([^<\s]+)", page)
    assert rows[:3] == ["EASY", "FCFS", "&lt;b&gt;"]


@pytest.mark.parametrize(
    ("low", "high", "most", "texts"),
    [
        (20.0, 90.0, 9, ["10", "20", "50", "100"]),
        (0.4, 150.0, 10, ["0.2", "0.5", "1", "2", "5", "10", "20", "50", "100", "200"]),
        (0.4, 150.0, 9, ["0.3", "1", "3", "10", "30", "100", "300"]),
        (3.0, 4e6, 3, ["10", "100", "1,000", "10,000", "100,000", "1,000,000"]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_whole_numbers(low: float, high: float, most: int, texts: list[str]) -> None:
    """20 and 50 are written out, where plotly writes 2 and 5 between the powers of ten; of many only the powers."""
    ticks = log_ticks(low, high, most)
    assert ticks["ticktext"] == texts
    assert ticks["tickvals"] == [float(text.replace(",", "")) for text in texts]


def test_a_wide_dot_plot_has_such_ticks() -> None:
    """Waits of 1 to 100 min are on a logarithmic scale in the unit of the axis."""
    runs = made_up().assign(
        mean_wait_s=lambda frame: frame["mean_wait_s"] * np.where(frame["scheduler"] == "easy", 1.0, 300.0)
    )
    axis = dot_plot(alternatives(runs, ["mean_wait_s"]), "mean_wait_s").layout.xaxis
    assert axis.type == "log"
    assert axis.dtick is None
    assert all(text.strip("0.125,") == "" for text in axis.ticktext)


def test_ticks_of_a_logarithmic_axis_follow_the_zoom(tmp_path: Path) -> None:
    """In all panels: within a power of ten, of several, and back to all."""
    runs = made_up().assign(
        mean_wait_s=lambda frame: frame["mean_wait_s"] * np.where(frame["scheduler"] == "easy", 1.0, 300.0)
    )
    chart = figure_html(dot_plot(alternatives(runs, ["mean_wait_s"]), "mean_wait_s"), "dots")
    script = """<pre id="found"></pre><script>
    const pause = () => new Promise(done => setTimeout(done, 50)), found = [];
    (async () => {
      const chart = document.getElementById("dots");
      while (!chart.data) await pause();
      for (const range of [[Math.log10(31), Math.log10(44)], [-1, 2.1], [-1, 6]]) {
        await Plotly.relayout(chart, { "xaxis.range": range }); await pause();
        const { xaxis, xaxis2 } = chart._fullLayout;
        found.push([xaxis.ticktext, xaxis2.ticktext, xaxis.tickvals]);
      }
      document.getElementById("found").textContent = JSON.stringify(found);
    })();
    </script></body>"""
    (tmp_path / "page.html").write_text(page("zoomed", [chart]).replace("</body>", script))
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    texts = [
        ["35", "40"],
        ["0.1", "1", "10", "100"],
        ["0.1", "1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"],
    ]
    for (left, right, places), expected in zip(json.loads(html.unescape(found[1])), texts, strict=True):
        assert left == right == expected
        assert places == [float(text.replace(",", "")) for text in expected]


def test_intervals_stay_within_what_there_is() -> None:
    """Student's intervals of waits near 0 and utilisations near 1 would leave the range; those drawn do not."""
    runs = made_up(6)
    runs["mean_wait_s"] = np.where(runs["replication"] == 5, 5_000.0, 0.0)
    runs["utilisation"] = np.where(runs["replication"] == 5, 0.4, 0.99)
    for metric in ("mean_wait_s", "utilisation"):
        for trace in dot_plot(alternatives(runs, [metric]), metric).data:
            mean = np.asarray(trace.x)
            assert (mean - trace.error_x.arrayminus >= 0).all()
            if metric == "utilisation":
                assert (mean + trace.error_x.array <= 1).all()
                assert (trace.error_x.array > 0).all()
    for trace in factor_plot(runs, "utilisation", "power_policy", "scheduler").data:
        assert (np.asarray(trace.y) + trace.error_y.array <= 1).all()
    for trace in factor_plot(runs, "mean_wait_s", "power_policy", "scheduler").data:
        assert (np.asarray(trace.y) - trace.error_y.arrayminus >= 0).all()


def test_bootstrap_interval() -> None:
    """The interval of many values is that of the normal distribution, of equal ones a point; never beyond the values."""
    values = np.random.default_rng(1).normal(10.0, 2.0, 400)
    low, high = bootstrap_interval(values)
    assert (low, high) == pytest.approx((values.mean() - 1.96 * 0.1, values.mean() + 1.96 * 0.1), abs=0.03)
    assert bootstrap_interval(np.full(5, 7.0)) == (7.0, 7.0)
    low, high = bootstrap_interval(np.array([0.0, 0.0, 0.0, 0.0, 90.0]))
    assert low == 0.0
    assert high <= 90.0


def test_the_page_answers_first(tmp_path: Path) -> None:
    """Title, conclusions, sentence and assumptions stand before the table, and it before the figures; no name is a tag."""
    page = write_sweep_page(
        made_up(), ["mean_wait_s", "utilisation"], tmp_path / "page.html",
        facts={"Seed": "0"}, assumptions=["rejected: 3 of 9"],
    )  # fmt: skip
    text = text_of(page)
    parts = (
        "Sweep: 5 schedulers × 2 power policies",
        # By hand: easy 50 s below fcfs in every replication: 50 / 15.
        "Mean wait: with all nodes on, least under EASY backfilling, 15 s; next FCFS + 2 more, +333 %, "
        "replication by replication EASY backfilling 10 s, 15 s, 20 s; "
        "FCFS + 2 more 1 min, 1 min 5 s, 1 min 10 s: too few replications (3) for an interval; with ",
        "30 runs of log.swf, 3 of each combination, paired",
        "share a row: 3 are left",
        "What is concluded",
        "What differs: scheduler (Earliest deadline first, nodes: as the platform lists them; EASY backfilling; FCFS; "
        "First come first, nodes: as the platform lists them; &lt;b&gt;); power policy (all nodes on, ",
        "rejected: 3 of 9",
        "Means, best first",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "FCFS fcfs = First come first, nodes: as the platform lists them = earliest deadline first here" in text
    assert "<b></" not in page.read_text()
    assert "&lt;b&gt;" in page.read_text()
    assert '<th scope="row">Seed</th><td>0</td>' in page.read_text()


def test_the_table_is_sorted_and_marks_the_best(tmp_path: Path) -> None:
    """By hand: waits of 20, 70 and 110 s on the mean, in this order, with the difference to the best beside them."""
    page = write_sweep_page(made_up(5, ("always-on",)), ["mean_wait_s"], tmp_path / "page.html").read_text()
    rows = re.findall(r"<tr><th scope=\"row\">([^<\s]+).*?</th>(.*?)</tr>", page, re.DOTALL)[:3]
    assert [name for name, _ in rows] == ["EASY", "FCFS", "&lt;b&gt;"]
    assert rows[0][1] == '<td class="best" data-head="mean wait [s]">20.0</td><td class="worse"></td>'
    assert rows[1][1] == '<td data-head="mean wait [s]">70.0</td><td class="worse">+250 %</td>'
    assert "with always-on" not in page


def test_of_many_cases_the_wins_are_counted(tmp_path: Path) -> None:
    """Five loads: not a sentence about each, but in how many of them each scheduler is told apart from all others."""
    runs = pd.concat([made_up(5, ("always-on",)).assign(load=load / 5) for load in range(1, 6)])
    runs.loc[(runs["load"] == 1.0) & (runs["scheduler"] == "<b>"), "mean_wait_s"] = 1.0
    runs.attrs["factors"] = ["workload", "scheduler", "load"]
    text = text_of(write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html"))
    assert "Mean wait: least under EASY backfilling in 4, &lt;b&gt; in 1 of 5 cases." in text
    runs = pd.concat([runs[runs["load"] > 0.5], tied().assign(load=0.2)])
    runs.attrs["factors"] = ["workload", "scheduler", "load"]
    text = text_of(write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html"))
    assert (
        "Mean wait: least under EASY backfilling in 2, &lt;b&gt; in 1 of 4 cases; no difference shown between the best "
        "means in 1 of 4 cases "
        "(EASY backfilling in 1, FCFS + 2 more in 1)."
    ) in text


def test_only_two_orders_make_a_map(tmp_path: Path) -> None:
    """List scheduling with one node order has no heat map; with two of each it has one for each power policy."""

    def maps(names: list[str]) -> int:
        runs = made_up(1).assign(
            scheduler=lambda frame: frame["scheduler"].map(dict(zip(SCHEDULERS, names, strict=True)))
        )
        runs.attrs["factors"] = ["workload", "scheduler", "power_policy"]
        page = write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html").read_text()
        return page.count("List scheduling by its two orders")

    assert maps(["list:a/first", "list:b/first", "list:c/first", "list:d/first", "easy"]) == 0
    assert maps(["list:a/first", "list:b/first", "list:a/random", "list:b/random", "easy"]) == 2


def test_a_factor_of_numbers_has_lines_in_units_for_people(tmp_path: Path) -> None:
    """Waits of hours over five loads: the axis counts hours, each line is labelled where it ends."""
    from analysis.sweep.report import _lines  # what the page draws, as a figure

    runs = pd.concat([made_up(5, ("always-on",)).assign(load=load / 5) for load in range(1, 6)])
    runs["mean_wait_s"] *= 3600.0
    runs.attrs["factors"] = ["workload", "scheduler", "load"]
    ((figure, caption),) = _lines(runs, alternatives(runs, ["mean_wait_s"]), "mean_wait_s", "load", 0.95)
    assert figure.layout.yaxis.title.text == "mean wait [d]"
    assert figure.data[0].y[0] * 24 == pytest.approx(20.0)
    assert {annotation.text for annotation in figure.layout.annotations} == {"easy", "fcfs", "&lt;b&gt;"}
    assert "Student's 95% intervals" in caption


def test_a_machine_without_a_name_is_the_logs(tmp_path: Path) -> None:
    """A sweep without a platform ran on the machine that the log says: the sentence calls it so."""
    runs = made_up().assign(platform="the log's")
    runs.attrs["factors"] = ["platform", *made_up().attrs["factors"]]
    page = write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html")
    assert "30 runs of log.swf on the log&#39;s machine, 3 of each" in text_of(page)


def test_the_head_has_figures_with_their_direction(tmp_path: Path) -> None:
    """By hand: 20 s instead of 70 s in all of five replications; a utilisation that moves by 0.02 at most is not shown to."""
    runs = made_up(5, ("always-on",)).replace({"scheduler": {"list:edf/first": "fcfs:blocking=yes"}})
    runs.attrs["factors"] = ["workload", "scheduler"]
    page = write_sweep_page(runs, ["mean_wait_s", "utilisation"], tmp_path / "page.html").read_text()
    tiles = re.findall(r'<li class="(\w+)"><span>(.*?)</span><b>(.*?)</b><small>(.*?)</small>', page)
    assert [tile[:3] for tile in tiles] == [("better", "mean wait", "20 s"), ("unsure", "utilisation", "1")]
    assert tiles[0][3].startswith("under EASY backfilling: −71 % against 1 min 10 s under FCFS")
    assert page.index('class="tiles"') < page.index("<figure>") < page.index("Means, best first")


def test_many_cases_are_summed_up_by_their_ratios(tmp_path: Path) -> None:
    """A half in one case and twice as much in another are no change, and no case of them is told apart in most."""
    rows = [
        {"replication": r, "scheduler": name, "load": load, "mean_wait_s": wait + r}
        for r in range(6)
        for load, waits in ((0.5, (100.0, 50.0)), (1.0, (100.0, 60.0)), (1.5, (50.0, 100.0)))
        for name, wait in zip(("fcfs", "easy"), waits, strict=True)
    ]
    runs = pd.DataFrame(rows)
    runs.attrs["factors"] = ["scheduler", "load"]
    page = write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html").read_text()
    ((kind, change, note),) = re.findall(
        r'<li class="(\w+)"><span>mean wait</span><b>(.*?)</b><small>(.*?)</small>', page
    )
    expected = 100 * ((52.5 / 102.5 * 62.5 / 102.5 * 102.5 / 52.5) ** (1 / 3) - 1)
    assert float(change.removesuffix(" %").replace("−", "-")) == pytest.approx(expected, abs=0.05)
    assert kind == "better"
    assert note == "EASY backfilling against FCFS; mean of 3 cases, shown in 3"
