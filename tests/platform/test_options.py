"""Options of things that have names: what their annotations say is what specs, Python, lists and the manual hold them to."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, Lt, Unit
from typing_extensions import Doc

from cluster_sim.cli.commands.listing import REGISTRIES, registry_of
from cluster_sim.errors import SpecError
from cluster_sim.options import OptionModel, checked, options_of, with_options
from cluster_sim.registry import Registry
from schedulers import EasyBackfilling, Fcfs, IdleTimeout, PowerCap, make_power_policy

things: Registry[Any] = Registry("thing", "cluster_sim.things_of_a_test")


@things.register("thing")
class Thing:
    """A thing with an option of every kind."""

    @checked
    def __init__(
        self,
        name: Annotated[str, Doc("what it is called")],
        width: Annotated[int | Literal["all"], Ge(1), Le(10**9), Unit("cores"), Doc("how wide it is")] = 2,
        share: Annotated[float, Ge(0), Lt(1), Doc("a share")] = 0.5,
        wait: Annotated[float, Gt(0), Unit("s"), Doc("a time")] = math.inf,
        grace: Annotated[float, Ge(0), Unit("s"), Doc("a finite time")] = 0.0,
        mode: Annotated[Literal["low", "high"], Doc("one of two")] = "low",
        strict: Annotated[bool, Doc("yes or no")] = False,
        other: Annotated[Any, Doc("an object, or its name")] = None,
    ):
        self.given = (name, width, share, wait, grace, mode, strict, other)


WRONG = [
    ("width", "0", "a whole number of cores, 1 or more and at most 1,000,000,000, or all"),
    ("width", "2.5", "a whole number of cores, 1 or more and at most 1,000,000,000, or all"),
    ("width", "some", "a whole number of cores, 1 or more and at most 1,000,000,000, or all"),
    ("share", "1", "a number, 0 or more and below 1"),
    ("share", "nan", "a number, 0 or more and below 1"),
    ("wait", "0", "seconds above 0"),
    ("grace", "inf", "finite seconds, 0 or more"),
    ("mode", "middle", "low or high"),
    ("strict", "maybe", "yes or no"),
]


@pytest.mark.parametrize(("option", "text", "expected"), WRONG)
def test_a_value_out_of_bounds_is_refused_in_a_spec(option: str, text: str, expected: str) -> None:
    """One line says the spec, the option, what it may be, and what was found, as it was typed."""
    spec = f"thing:it,{option}={text}"
    with pytest.raises(SpecError) as refused:
        things.make(spec)
    assert str(refused.value).startswith(f"thing '{spec}', option {option}: expected {expected}")
    assert str(refused.value).endswith(f", found {text}")


@pytest.mark.parametrize(("option", "text", "expected"), [case for case in WRONG if case[0] != "strict"])
def test_a_value_out_of_bounds_is_refused_in_python(option: str, text: str, expected: str) -> None:
    """The class and the option are named."""
    value: Any = text if text.isalpha() and text not in ("nan", "inf") else float(text)
    with pytest.raises(SpecError, match=f"^Thing, {option}: expected {expected}, found "):
        Thing("it", **{option: value})


def test_texts_and_numbers_become_values_of_the_options_types() -> None:
    """From a spec, and of numpy's numbers from Python."""
    made = things.make("thing:it,width=all,share=0,wait=1e3,strict=YES,mode=high,other=x")
    assert made.given == ("it", "all", 0.0, 1000.0, 0.0, "high", True, "x")
    made = Thing("it", np.int64(3), np.float32(0.25), 5, strict=np.bool_(True))  # type: ignore[arg-type]
    assert made.given == ("it", 3, 0.25, 5.0, 0.0, "low", True, None)
    assert [type(value) for value in made.given[:4]] == [str, int, float, float]
    with pytest.raises(SpecError, match=r"^Thing, strict: expected True or False, found yes"):
        Thing("it", strict="yes")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^Thing, width: expected a whole number of cores"):
        Thing("it", True)


def test_a_thing_made_in_python_says_the_spec_that_makes_it() -> None:
    """The spec has the options that differ from the defaults. A required option stands without its key."""
    assert Thing("it").spec == "thing:it"  # type: ignore[attr-defined]
    assert Thing("it", 3, strict=True).spec == "thing:it,width=3,strict=yes"  # type: ignore[attr-defined]
    assert [IdleTimeout(30).spec, IdleTimeout().spec, PowerCap(1e3, "slow").spec] == [  # type: ignore[attr-defined]
        "timeout:30", "timeout", "power-cap:1000,how=slow",
    ]  # fmt: skip
    assert Fcfs().spec == "fcfs"

    class Derived(Fcfs):
        """A class of somebody's own."""

    assert EasyBackfilling(depth=3).spec == "easy:depth=3"
    assert Derived().spec == "fcfs"


def _registered() -> list[tuple[str, str, Any]]:
    return [(kind, name, registry_of(kind).factory(name)) for kind in REGISTRIES for name in registry_of(kind)]


def test_annotations_of_others_count_for_what_they_say() -> None:
    """Whatever they are: the type of the default stands in where they say none, and nobody is refused for them."""
    Seconds = NewType("Seconds", float)

    def made(
        a: Any = 5,
        b: Seconds = Seconds(3.0),
        c: "number of nodes" = 3,  # type: ignore[valid-type] # noqa: F722
        d: int | str = 5,
        e: Literal[1, 2] = 1,
        f: int = 0.5,  # type: ignore[assignment]
        g=True,  # type: ignore[no-untyped-def]
        h: Sequence[str] = ("x",),
    ) -> Any:
        return [a, b, c, d, e, f, g]

    things.register("made")(made)
    assert things.make("made:h=ann")
    assert things.make("made:6,60,4,all,2,0.25,no") == [6, 60.0, 4, "all", 2, 0.25, False]
    with pytest.raises(SpecError, match=r"option e: expected 1 or 2, found 3"):
        things.make("made:e=3")


def test_options_given_by_star_and_none_and_paths() -> None:
    """Each of several values is checked; None where it is declared; a path stands for its text."""

    @things.register("starred")
    class Starred:
        """A thing with several values."""

        @checked
        def __init__(
            self,
            *numbers: Annotated[int, Ge(0), Doc("numbers")],
            most: Annotated[float | None, Gt(0), Doc("or none")] = 3.0,
            file: Annotated[str, Doc("a file")] = "",
            **others: Any,
        ):
            self.given = (numbers, most, file, others)

    assert Starred(1, np.int64(2), most=None, file=Path("a"), x=1).given == ((1, 2), None, "a", {"x": 1})  # type: ignore[arg-type]
    assert Starred(most=7).spec == "starred:most=7"  # type: ignore[attr-defined]
    with pytest.raises(SpecError, match=r"^Starred, numbers: expected a whole number, 0 or more, found -1"):
        Starred(1, -1)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        PowerCap()  # type: ignore[call-arg]


def test_a_spec_says_numbers_as_they_are() -> None:
    """A spec makes the same thing again, digit by digit."""
    for seconds in (1234567.0, 300.0001, 0.1, 1e-9, 60.0):
        made = make_power_policy(IdleTimeout(seconds).spec)  # type: ignore[attr-defined]
        assert made.seconds == seconds  # type: ignore[attr-defined]

    class Patient(IdleTimeout):
        """One of somebody's own, which no spec names."""

        @checked
        def __init__(self, grace: float = 5.0):
            super().__init__(grace * 10)

    assert Patient(6.0).spec == "timeout:60"  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Frame(OptionModel):
    """Options of a thing that is drawn."""

    colour: Annotated[Literal["red", "blue"], Doc("of its lines")] = "red"
    _: KW_ONLY
    width: Annotated[int | None, Ge(1), Unit("px"), Doc("of it all")] = None
    sides: Annotated[Sequence[Literal["left", "right"]], Doc("where lines are")] = ("left",)


@with_options(Frame)
def framed(thing: str, options: Frame) -> tuple[str, Frame]:
    """Draw a frame around a thing."""
    return thing, options


def test_a_model_makes_the_arguments_of_a_function() -> None:
    """Names, types, defaults and meanings are those of the model; what is wrong names the option, or the function."""
    assert framed("x", "blue", sides=["right", "left"]) == ("x", Frame("blue", sides=("right", "left")))
    parameters = inspect.signature(framed).parameters
    assert list(parameters) == ["thing", "colour", "width", "sides"]
    assert parameters["width"].annotation == int | None
    assert "    width: of it all (px)." in str(framed.__doc__)
    for options, told in (
        ({"colour": "green"}, "colour: expected one of red, blue, found green"),
        ({"width": 0}, "width: expected a whole number of px, 1 or more, found 0"),
        ({"sides": ["left", "top"]}, "sides: expected one of left, right, found top"),
        ({"sides": "left"}, "sides: expected a list of left, right, found left"),
        ({"sides": None}, "sides: expected a list of left, right, found None"),
    ):
        with pytest.raises(SpecError, match=f"^{told}$"):
            framed("x", **options)
    with pytest.raises(TypeError, match=r"^framed\(\) got an unexpected keyword argument 'depth'$"):
        framed("x", depth=1)  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"^framed\(\) too many positional arguments; name these options: width, sides$"
    ):
        framed("x", "blue", 3)  # type: ignore[call-arg]


def test_every_option_says_what_it_means() -> None:
    """In every registry: its meaning, and the type of its default."""
    silent = [
        (kind, name, option.name)
        for kind, name, factory in _registered()
        for option in options_of(factory).values()
        if not option.meaning or not isinstance(inspect.getdoc(factory), str)
    ]
    assert not silent


def test_every_default_is_within_its_bounds() -> None:
    """As a spec would say it: nothing that is made without options could not be made with them."""
    for kind, name, factory in _registered():
        for option in options_of(factory).values():
            if option.kinds and option.default is not inspect.Parameter.empty and option.default is not None:
                text = option.in_spec(option.default)
                assert option.in_spec(option.parse(text, f"{kind} {name}, {option.name}")) == text
