"""What a page may send is anything: wrong values are refused or taken for none, and no callback dies of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import Request, urlopen

import pytest
from plotly.io.json import to_json_plotly

from analysis.explore import callbacks, runs
from analysis.explore.app import make_app
from analysis.explore.offers import Offers
from analysis.explore.runs import Choices, ExploreSession
from analysis.pages.serving import LOCAL, server_of
from cluster_sim.errors import ClusterSimError, InputError, ModelWarning, heard, warn

from .conftest import Story

NASTY: list[Any] = [
    None, True, "", "x", "\ud800", -1, 0.5, 2**70, 10**400, -(10**400), float("nan"), float("inf"), 1e308, [], [1], {},
    {"range": [0, 10**400]}, {"range": "ab"}, {"range": [None, 1]}, {"turn": None, "range": [5, 2]}, {"step": None}, {"a": [[]]},
]  # fmt: skip


@pytest.fixture
def desk() -> ExploreSession:
    """The page with what is built in."""
    return ExploreSession(Offers.of())


@pytest.fixture
def saved(story: Story) -> ExploreSession:
    """The page of a finished run."""
    return ExploreSession(Offers.of(), story("fcfs"))


CALLS: list[Callable[[ExploreSession, Any], Any]] = [
    lambda desk, value: callbacks.chart(desk, None, "job", None, value),
    lambda desk, value: callbacks.chart(desk, None, "job", value, 0),
    lambda desk, value: callbacks.chart(desk, None, value, None, 0),
    lambda desk, value: callbacks.moved_cursor(desk, None, value),
    lambda desk, value: callbacks.zoomed(desk, None, value, None),
    lambda desk, value: callbacks.zoomed(desk, None, {"xaxis.range[0]": 0, "xaxis.range[1]": value}, value),
    lambda desk, value: callbacks.frames(desk, None, "job", value),
    lambda desk, value: callbacks.frames(desk, None, value, 0),
    lambda desk, value: callbacks.explained(desk, None, value),
    lambda desk, value: callbacks.clicked_job(desk.run(None), value),
    lambda desk, value: callbacks.whole(value),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_no_value_breaks_a_callback(saved: ExploreSession, number: int) -> None:
    """A null step, a number of 400 digits, lists where text belongs: an answer, or one line."""
    for value in NASTY:
        try:
            CALLS[number](saved, value)
        except ClusterSimError as error:
            assert str(error).isprintable()


@pytest.mark.parametrize("name", [*Choices.__dataclass_fields__, "at"])
def test_no_choice_breaks_a_run(desk: ExploreSession, name: str) -> None:
    """Each of a run's choices in turn is one of these values: there is a run, or a line that says what is wrong."""
    for value in NASTY:
        given = Choices().plain() | {name: value}
        _, message = callbacks.start(desk, given, given)
        assert "\n" not in message
        shown = callbacks.opened(desk, given)
        assert message == "" or shown[0] == [message]
        callbacks.submitted(desk, given, value, [value] * 5)
        callbacks.cancelled(desk, given, value)
        callbacks.undone(desk, given, value)


def test_a_400_digit_begin_is_told(desk: ExploreSession) -> None:
    """As what it is: no number that a begin can have."""
    _, message = callbacks.start(desk, Choices().plain() | {"begin_h": 10**400})
    assert message.startswith("begin h: expected a number of hours from 0, found 1000")


def test_a_run_that_took_too_long_is_given_up_once(desk: ExploreSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that acts every millisecond is ended after the limit; whoever asks for the same again is told at once."""
    monkeypatch.setattr(runs, "LONGEST_S", 0.1)
    given = Choices().plain() | {"power_policy": "random", "power_options": "period=0.001"}
    made, tries = desk._made, []
    monkeypatch.setattr(desk, "_made", lambda choices: tries.append(choices) or made(choices))
    for _ in range(2):
        with pytest.raises(InputError, match=r"run: expected a run that is done in 0\.1 s"):
            desk.run(given)
    assert len(tries) == 1


def test_a_long_run_holds_up_no_other_page(desk: ExploreSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a run is made, those that were made before are handed out, and others are made."""
    quick = desk.run(Choices().plain())
    begun, go_on = threading.Event(), threading.Event()
    made = desk._made

    def slow(choices: Choices) -> runs.Run:
        if choices.seed == 1:
            begun.set()
            assert go_on.wait(30)
        return made(choices)

    monkeypatch.setattr(desk, "_made", slow)
    other = threading.Thread(target=lambda: desk.run(Choices(seed=1).plain()))
    other.start()
    assert begun.wait(30)
    assert desk.run(Choices().plain()) is quick
    assert len(desk.run(Choices(seed=2).plain()).result.jobs) == 60
    assert other.is_alive()
    go_on.set()
    other.join()


def test_several_users_at_once_get_what_each_would_get_alone(desk: ExploreSession) -> None:
    """Twelve requests at once to a server, of six runs: the same metrics, and none has another's warnings."""
    wanted = [
        Choices(scheduler=name, jobs=40, workload_options=f"jobs=60,nodes={nodes},seed=4").plain()
        for name in ("easy", "conservative", "list")
        for nodes in (32, 128)  # some jobs of the latter cannot fit
    ]
    alone = [(callbacks.headlines(desk, given, None), callbacks.opened(desk, given)[0]) for given in wanted]
    fresh = ExploreSession(Offers.of())
    server = server_of(make_app(fresh), "explore", LOCAL[0], 0)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    address = f"http://127.0.0.1:{server.socket.getsockname()[1]}/_dash-update-component"

    def ask(given: dict[str, Any]) -> Any:
        body = {
            "output": "headlines.children",
            "outputs": {"id": "headlines", "property": "children"},
            "inputs": [
                {"id": "choices", "property": "data", "value": given},
                {"id": "beside", "property": "data", "value": None},
            ],
            "changedPropIds": ["choices.data"],
        }
        request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)["response"]["headlines"]["children"]

    try:
        with ThreadPoolExecutor(12) as users:
            answers = list(users.map(ask, wanted * 2))
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
    expected = [json.loads(to_json_plotly(head)) for head, _ in alone]
    assert answers == expected * 2
    assert len({json.dumps(each) for each in expected}) == 6
    cautions = [json.loads(to_json_plotly(callbacks.opened(fresh, given)[0])) for given in wanted]
    assert cautions == [json.loads(to_json_plotly(told)) for _, told in alone]
    assert ["rejected" in json.dumps(each) for each in cautions] == [False, True] * 3


def test_warnings_are_heard_in_their_own_thread() -> None:
    """What another thread is warned of in the meantime is not heard, and outside nothing is swallowed."""

    def other() -> list[Warning]:
        with heard() as told:
            warn(ModelWarning("of the other"))
        return told

    with heard() as mine, ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(other).result()
        warn(ModelWarning("mine"))
    assert [str(each) for each in mine] == ["mine"]
    assert [str(each) for each in theirs] == ["of the other"]
    with pytest.warns(ModelWarning, match="outside"):
        warn(ModelWarning("outside"))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((body, 400) for body in (b"", b"{", b"[]", b"5", b"null", b'"x"', b"{}", b'{"output": 5}', b"\xff\xfe")),
        (b'{"output": "choices.data", "inputs": 5}', 400),
        (b'{"output": "x.y", "inputs": [], "changedPropIds": []}', 400),
        (b"[" * 100_000, 400),
        (b" " * 9_000_000 + b"{}", 413),
    ],
)
def test_a_body_that_is_no_request_is_refused(
    desk: ExploreSession, body: bytes, status: int, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """With a status that says so, and no traceback in the terminal."""
    client = make_app(desk).server.test_client()
    answer = client.post("/_dash-update-component", data=body, content_type="application/json")
    assert answer.status_code == status
    assert "Traceback" not in answer.text + caplog.text + "".join(capsys.readouterr())
    assert client.get("/").status_code == 200
