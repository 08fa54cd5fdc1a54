"""Settings are frozen; errors in them are one line that names the key."""

from typing import Any

import pytest
from pydantic import Field, ValidationError, model_validator

from anyner.errors import AnynerError
from anyner.settings import Settings


class Inner(Settings):
    size: int = Field(default=3, ge=1)
    name: str = "n"


class Outer(Settings):
    inner: Inner = Inner()
    rate: float = 0.5
    many: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _sane(self) -> "Outer":
        if self.rate > 9:
            raise ValueError("the rate is\ntoo high")
        return self


def test_of_builds_from_plain_data_and_from_nothing() -> None:
    built = Outer.of({"inner": {"size": 7}, "rate": 1, "many": [1, 2]}, "x.yaml")
    assert (built.inner.size, built.inner.name, built.rate, built.many) == (7, "n", 1.0, (1, 2))
    assert Outer.of(None, "x") == Outer.of({}, "x") == Outer()


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"inner": {"sizes": 7}}, "x.yaml: unknown key 'inner.sizes'; did you mean 'inner.size'?"),
        ({"wrong": 1}, "x.yaml: unknown key 'wrong'"),
        ({"inner": {"size": 0}}, "x.yaml: 'inner.size': Input should be greater than or equal to 1, got 0"),
        ({"many": [1, "two"]}, "x.yaml: 'many.1': "),
        ({"rate": "fast\nvery"}, "got 'fast\\nvery'"),
        ({"rate": None}, "got None"),
        ({"inner": 5}, "'inner': "),
        ({"rate": 10}, "x.yaml: the rate is too high"),
        ({"inner": {"size": 0}, "rate": "x"}, "(and 1 more)"),
    ],
)
def test_errors_are_one_line_and_name_the_key(plain: dict[str, object], message: str) -> None:
    with pytest.raises(AnynerError) as caught:
        Outer.of(plain, "x.yaml")
    error = str(caught.value)
    assert message in error
    assert error.startswith("x.yaml: ")
    assert "\n" not in error
    assert caught.value.__suppress_context__


class Deep(Settings):
    outer: Outer | None = None
    all: tuple[Inner, ...] = ()
    free: dict[str, int] = {}


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"otuer": {}}, "x: unknown key 'otuer'; did you mean 'outer'?"),
        ({"outer": {"inner": {"nme": 1}}}, "x: unknown key 'outer.inner.nme'; did you mean 'outer.inner.name'?"),
        ({"all": [{}, {"siez": 1}]}, "x: unknown key 'all.1.siez'; did you mean 'all.1.size'?"),
        ({"outer": {"size": 1}}, "x: unknown key 'outer.size'"),
        ({"completely": 1}, "x: unknown key 'completely'"),
    ],
)
def test_a_misspelt_key_gets_the_closest_one_of_its_own_group(plain: dict[str, object], message: str) -> None:
    with pytest.raises(AnynerError) as caught:
        Deep.of(plain, "x")
    assert str(caught.value) == message


def test_a_misspelt_required_key_is_reported_as_misspelt() -> None:
    class Needy(Settings):
        needed: int

    with pytest.raises(AnynerError, match=r"^x: unknown key 'neded'; did you mean 'needed'\?$"):
        Needy.of({"neded": 1}, "x")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Outer().rate = 3.0  # type: ignore[misc]


def test_updated_gives_a_checked_copy() -> None:
    old = Outer()
    new = old.updated({"rate": 2, "inner": {"size": 9}}, "here")
    assert (old.rate, new.rate, new.inner.size) == (0.5, 2.0, 9)
    assert old.updated({}, "here") is old
    with pytest.raises(AnynerError, match="here: unknown key 'rat'"):
        old.updated({"rat": 2}, "here")
    with pytest.raises(AnynerError, match=r"here: 'inner\.size'"):
        old.updated({"inner": {"size": 0}}, "here")


class Numbers(Settings):
    count: int = 3
    rate: float | None = None
    switch: bool | None = None
    anything: dict[str, Any] = {}


@pytest.mark.parametrize("plain", [{"count": True}, {"rate": False}, {"rate": float("inf")}, {"rate": float("nan")}])
def test_yes_and_infinity_are_not_numbers(plain: dict[str, object]) -> None:
    with pytest.raises(AnynerError, match=r"expected a number|finite"):
        Numbers.of(plain, "here")


def test_yes_is_for_switches() -> None:
    assert Numbers.of({"switch": True, "anything": {"x": True}}, "here").switch is True
