"""What ``cluster_sim/engine.py`` relies on in SimPy, beyond its manual: another SimPy that does it otherwise is told of here."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import simpy
from simpy.core import BoundClass
from simpy.events import PENDING, Initialize, Interruption, Timeout

from cluster_sim.engine import EagerProcess, Environment, PlannedEvent

ROOT = Path(__file__).resolve().parents[2]
ENGINE = "cluster_sim/engine.py"


class _Plain(ast.NodeTransformer):
    """Leaves out annotations."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return node if node.value is None else ast.Assign([node.target], node.value, lineno=node.lineno)


def statements(function: Callable[..., Any]) -> list[str]:
    """The statements of a function, without comments, annotations and docstring, laid out in one way."""
    tree = _Plain().visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    body = tree.body[0].body
    return [
        ast.unparse(node) for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


REWRITTEN = {
    "Timeout.__init__": (
        Timeout.__init__,
        "PlannedEvent.__init__ does the same for an absolute time",
        [
            "if delay < 0:\n    raise ValueError(f'Negative delay {delay}')",
            "self.env = env",
            "self.callbacks = []",
            "self._value = value",
            "self._delay = delay",
            "self._ok = True",
            "env.schedule(self, NORMAL, delay)",
        ],
    ),
    "Process.__init__": (
        simpy.Process.__init__,
        "EagerProcess.__init__ does the same, but for the start",
        [
            "if not hasattr(generator, 'throw'):\n    raise ValueError(f'{generator} is not a generator.')",
            "self.env = env",
            "self.callbacks = []",
            "self._generator = generator",
            "self._target = Initialize(env, self)",
        ],
    ),
    "Initialize.__init__": (
        Initialize.__init__,
        "EagerProcess.__init__ starts the generator without this event",
        [
            "self.env = env",
            "self.callbacks = [process._resume]",
            "self._value = None",
            "self._ok = True",
            "env.schedule(self, URGENT)",
        ],
    ),
    "Event.succeed": (
        simpy.Event.succeed,
        "Environment.trigger does the same in another phase",
        [
            "if self._value is not PENDING:\n    raise RuntimeError(f'{self} has already been triggered')",
            "self._ok = True",
            "self._value = value",
            "self.env.schedule(self)",
            "return self",
        ],
    ),
    "Environment.schedule": (
        simpy.Environment.schedule,
        "PlannedEvent.__init__ and Environment.trigger push such an entry themselves",
        ["heappush(self._queue, (self._now + delay, priority, next(self._eid), event))"],
    ),
    "Environment.step": (
        simpy.Environment.step,
        "Environment.step does the same, but for making one instant of times that differ by rounding, and deliver in part",
        [
            "try:\n    self._now, _, _, event = heappop(self._queue)\nexcept IndexError:\n    raise EmptySchedule from None",
            "callbacks, event.callbacks = (event.callbacks, None)",
            "try:\n    for callback in callbacks:\n        callback(event)\nexcept StopSimulation:\n"
            "    event.callbacks = callbacks[callbacks.index(callback) + 1:]\n"
            "    self.schedule(event, EventPriority(-1))\n    raise",
            "if not event._ok and (not hasattr(event, '_defused')):\n    exc = type(event._value)(*event._value.args)\n"
            "    exc.__cause__ = event._value\n    raise exc",
        ],
    ),
    "Environment.now": (
        simpy.Environment.now.fget,  # type: ignore[attr-defined]
        "Environment.now reads the same attribute",
        ["return self._now"],
    ),
}
"""(function of SimPy, what engine.py does in its place, its statements) by name."""

READ = {
    "Environment.__init__": (
        simpy.Environment.__init__,
        "Environment.at is bound like SimPy's own timeout",
        ["self._now = initial_time", "self._queue = []", "self._eid = count()", "BoundClass.bind_early(self)"],
    ),
    "Process._resume": (
        simpy.Process._resume,
        "EagerProcess.__init__ leaves the process as it is after waiting for its first event",
        [
            "event = self._generator.send(event._value)",
            "event.callbacks.append(self._resume)",
            "self._target = event",
            "self.env.schedule(self)",
        ],
    ),
    "Interruption._interrupt": (
        Interruption._interrupt,
        "an EagerProcess that waits is taken from the event it waits for",
        ["self.process._target.callbacks.remove(self.process._resume)", "self.process._resume(self)"],
    ),
}
"""(function of SimPy, why it matters, statements among its own) by name."""


def changed(name: str, matters: str) -> str:
    """What to tell when SimPy's ``name`` is no longer what it was."""
    return (
        f"SimPy {simpy.__version__} has changed {name}, on which {ENGINE} relies: {matters}. "
        f"Compare the two, bring {ENGINE} into line, then this test and the bound on simpy in setup.cfg."
    )


@pytest.mark.parametrize("name", REWRITTEN)
def test_simpy_does_what_the_engine_does_in_its_place(name: str) -> None:
    """What the engine has rewritten for speed is, statement by statement, what SimPy does still."""
    function, matters, expected = REWRITTEN[name]
    assert statements(function) == expected, changed(name, matters)


@pytest.mark.parametrize("name", READ)
def test_simpy_uses_what_the_engine_prepares(name: str) -> None:
    """SimPy's loop reads what the engine has put into the queue and into processes."""
    function, matters, expected = READ[name]
    source = "\n".join(statements(function))
    assert [line for line in expected if line not in source] == [], changed(name, matters)


def test_an_event_of_the_engine_has_all_that_simpys_has() -> None:
    """The attributes that SimPy's constructors set are those that the engine's set."""
    plain, ours = simpy.Environment(), Environment()
    kept = {name for name in vars(plain) if name.startswith("_")}
    assert {*vars(ours), "_now"} == {*kept, "at"}, changed(
        "Environment.__init__", "Environment.at is bound to each instance, and the clock is a slot"
    )
    assert set(vars(PlannedEvent(ours, 1.0))) == set(vars(Timeout(plain, 1.0))) - {"_delay"}, changed(
        "Timeout.__init__", "a PlannedEvent has the same attributes"
    )

    def waits(env: simpy.Environment) -> Any:
        yield env.timeout(1.0)

    process = EagerProcess(ours, waits(ours))
    assert set(vars(process)) == set(vars(simpy.Process(plain, waits(plain)))), changed(
        "Process.__init__", "an EagerProcess has the same attributes"
    )
    assert simpy.Event._value is PENDING, changed("Event._value", "an EagerProcess is alive while it has no value")
    assert isinstance(vars(simpy.Environment)["timeout"], BoundClass), changed("BoundClass", "Environment.at is one")


def test_the_end_of_a_process_is_an_event_if_another_waits_for_it_or_it_failed() -> None:
    """One that waits goes on, one that comes later goes on at once, and a failure is not lost."""
    env = Environment()
    story: list[tuple[str, float]] = []

    def short(fails: bool = False) -> Any:
        yield env.timeout(1.0)
        if fails:
            raise ValueError("broken")

    def waits(name: str, since: float, process: simpy.Process) -> Any:
        yield env.timeout(since)
        yield process
        story.append((name, env.now))

    awaited, alone = EagerProcess(env, short()), EagerProcess(env, short())
    env.process(waits("in time", 0.5, awaited))
    env.process(waits("late", 2.0, alone))
    env.run()
    assert story == [("in time", 1.0), ("late", 2.0)]
    EagerProcess(env, short(fails=True))
    with pytest.raises(ValueError, match="broken"):
        env.run()


PRIVATE = {
    name
    for class_ in (simpy.Environment, simpy.Event, simpy.Process)
    for function in vars(class_).values()
    if inspect.isfunction(function)
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))
    if isinstance(node, ast.Attribute) and (name := node.attr).startswith("_") and not name.startswith("__")
}
"""What SimPy keeps to itself."""


def test_nothing_but_the_engine_touches_what_simpy_keeps_to_itself() -> None:
    """``env._queue``, ``event._ok`` and the like stand in one module."""
    assert {"_queue", "_eid", "_now", "_ok", "_value", "_target", "_generator", "_resume"} <= PRIVATE
    found = set()
    for package in ("cluster_sim", "schedulers", "learning", "analysis"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if any(f".{name}" in text for name in PRIVATE) else ():
                own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
                if isinstance(node, ast.Attribute) and node.attr in PRIVATE and not own:
                    found.add(path.relative_to(ROOT).as_posix())
    assert found == {ENGINE}
