"""What the page may be asked for, and what not."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from analysis.explore import runs
from analysis.explore.offers import OF_THE_LOG, READ_FILES, Offers
from analysis.explore.runs import Choices, ExploreSession, window_of
from cluster_sim import InputError, Workload
from cluster_sim.files.source import FILE_OPTIONS
from cluster_sim.platform.specs import platforms
from cluster_sim.workload.workload import WORKLOAD_GENERATORS
from schedulers import power_policies, schedulers
from schedulers.queue.orders import job_orders


@pytest.fixture(scope="module")
def desk() -> ExploreSession:
    """With what is built in."""
    return ExploreSession(Offers.of())


def test_plug_ins_that_take_a_path_are_withheld() -> None:
    """Whatever is registered with a parameter of that name is on the list of those that read files."""
    for registry in (schedulers, power_policies, platforms, WORKLOAD_GENERATORS):
        for name in registry:
            names = set(inspect.signature(registry.factory(name)).parameters)
            if names & {"path", "file", "directory", "folder", "source", *FILE_OPTIONS}:
                assert name in READ_FILES
    for name in job_orders:  # they stand in the options of schedulers that are offered
        for parameter in inspect.signature(job_orders.factory(name)).parameters.values():
            text = parameter.annotation in ("str", str) and name != "powers"  # whose text is numbers
            assert parameter.name in {*FILE_OPTIONS, "job", "now"} or not text, name


def test_what_is_offered(desk: ExploreSession) -> None:
    """All that reads no file is there, each with a line about it."""
    offers = desk.offers
    assert {"fcfs", "easy", "list", "pcbe"} <= set(offers.schedulers)
    assert {"always-on", "timeout"} <= set(offers.power_policies)
    assert {OF_THE_LOG, "gaia", "homogeneous", "mixed", "machine:taurus"} <= set(offers.platforms)
    assert {"gaia-week", "lublin"} <= set(offers.workloads)
    for kind in (offers.workloads, offers.platforms, offers.schedulers, offers.power_policies):
        assert not READ_FILES & set(kind)
        assert all(offer.meaning for offer in kind.values())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workload": "/etc/passwd"}, "workload: expected one of gaia-week"),
        ({"workload": "gaia-week", "workload_options": "x"}, "expected no options, found x"),
        ({"workload_options": "jobs=999999999"}, "at most 100,000 jobs"),
        ({"workload_options": "9_999_999"}, "at most 100,000 jobs"),
        ({"platform": "simgrid", "platform_options": "/etc/passwd"}, "platform: expected one of"),
        ({"platform": "/etc/passwd"}, "platform: expected one of"),
        ({"platform_options": "nodes=500000,cores=1"}, "at most 20,000 nodes"),
        ({"platform_options": "nodes=1000,cores=9999"}, "at most 2,000,000 cores"),
        ({"scheduler": "replay", "scheduler_options": "/etc/passwd"}, "scheduler: expected one of"),
        ({"scheduler": "learned", "scheduler_options": "."}, "scheduler: expected one of"),
        ({"scheduler_options": "order=moon"}, "found moon"),
        ({"scheduler_options": "order=multifactor:conf=/etc/passwd"}, "options that name no file"),
        ({"scheduler": "slurm", "scheduler_options": "conf=/etc/passwd"}, "scheduler: expected one of"),
        ({"power_policy": "learned", "power_options": "."}, "power policy: expected one of"),
        ({"jobs": 2001}, "1 to 2,000 in this page"),
        ({"jobs": None}, "jobs: expected a whole number from 1 to 2,000"),
        ({"seed": None}, "seed: expected a whole number from 0 to"),
        ({"jobs": True}, "jobs: expected a whole number"),
        ({"begin_h": float("nan")}, "a number of hours"),
        ({"begin_h": 1e6}, "before the last submission"),
        ({"seed": -1}, "seed: expected a whole number from 0"),
        ({"workload": ["lublin"]}, "workload: expected a choice"),
    ],
)
def test_wrong_choices_are_one_line(desk: ExploreSession, wrong: dict[str, object], said: str) -> None:
    """Whatever a page sends, the answer says what was expected."""
    with pytest.raises(InputError) as caught:
        desk.run(Choices().plain() | wrong)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_named_at_the_start_are_offered(tmp_path: Path) -> None:
    """They come first, and take no options, so that nothing can be put behind their names."""
    log = tmp_path / "log.csv"
    Workload({"submit_time": [0.0, 7200.0], "requested_cores": [2, 2], "recorded_run_time": [20.0, 10.0]}).write(log)
    offers = Offers.of([str(log)], ["homogeneous:nodes=1,cores=2"], ["easy:order=saf"], ["timeout:60"])
    first = Choices.first(offers)
    assert (first.workload, first.platform) == (str(log), "homogeneous:nodes=1,cores=2")
    assert (first.scheduler, first.power_policy) == ("easy:order=saf", "timeout:60")
    result = ExploreSession(offers).run(first.plain()).result
    assert (len(result.jobs), result.meta["scheduler"]) == (2, "easy:order=saf")
    late = ExploreSession(offers).run(first.plain() | {"begin_h": 1}).result
    assert len(late.jobs) == 1
    with pytest.raises(InputError, match="no options"):
        ExploreSession(offers).run(first.plain() | {"platform_options": "nodes=2"})
    with pytest.raises(InputError):
        Offers.of([str(tmp_path / "absent.swf")])


def test_a_run_is_made_once_and_the_oldest_forgotten(desk: ExploreSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same choices are the same run, as long as it is kept."""
    monkeypatch.setattr(runs, "KEPT", 1)
    choices = Choices(jobs=5).plain()
    first = desk.run(choices)
    assert desk.run(choices) is first
    desk.run(choices | {"jobs": 6})
    again = desk.run(choices)
    assert again is not first
    assert again.result.jobs.equals(first.result.jobs)


def test_a_run_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that says what to do."""
    monkeypatch.setattr(runs, "LONGEST_S", 0.0)
    with pytest.raises(InputError, match="take fewer jobs"):
        ExploreSession(Offers.of()).run(Choices().plain())


def test_a_window_counts_from_its_hour() -> None:
    """Jobs from the hour on, so many of them."""
    hours = {"submit_time": [0.0, 3600.0, 7200.0], "requested_cores": [1] * 3, "recorded_run_time": [1.0] * 3}
    part = window_of(Workload(hours), 1.0, 1)
    assert part.jobs["job_id"].tolist() == ["1"]


@pytest.mark.parametrize(("name", "jobs"), [("lublin", 60), ("lopez-mixed", 60), ("npb", 60), ("cruz", 7)])
def test_generators_without_options_and_with_their_example(desk: ExploreSession, name: str, jobs: int) -> None:
    """No options are the generator's defaults, not a file of that name; the page begins with an example."""
    offer = desk.offers.workloads[name]
    assert offer.example
    assert len(offer.make("")) >= jobs
    assert len(offer.make(offer.example)) >= 60


@pytest.mark.parametrize("spec", ["slurm:conf={conf}", "easy:order=multifactor:conf={conf}", "{python}:Mine"])
def test_what_names_a_file_can_be_named_at_the_start(tmp_path: Path, spec: str) -> None:
    """Such a scheduler runs, with the platform that it is for; its options cannot be changed in the page."""
    conf, python = tmp_path / "slurm.conf", tmp_path / "mine.py"
    conf.write_text(
        "NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\nPriorityType=priority/multifactor\n"
    )
    python.write_text("from schedulers import EasyBackfilling\nclass Mine(EasyBackfilling):\n    pass\n")
    named = spec.format(conf=conf, python=python)
    desk = ExploreSession(Offers.of((), [str(conf)], [named]))
    choices = desk.first.plain()
    assert (choices["scheduler"], choices["platform"]) == (named, str(conf))
    assert desk.run(choices | {"jobs": 3}).result.jobs["state"].tolist() == ["completed"] * 3
    with pytest.raises(InputError, match="expected no options"):
        desk.run(choices | {"scheduler_options": "depth=2"})
