"""Dataclasses whose methods are written late behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from domain.lazy_dataclass import OBJECTS_BEFORE_COMPILING, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A frozen class with what fields can have."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = ()
    note: str = field(default="", compare=False)
    key: str = field(default="", repr=False)
    seen: list[int] = field(default_factory=list, hash=False)


@dataclass(slots=True)
class Counter:
    """A class that can be changed, with positional fields."""

    count: int
    step: int = 1


@dataclass(frozen=True, slots=True)
class Sorted:
    """A class that puts its values in order."""

    values: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(self.values)))


@dataclass(frozen=True, kw_only=True)
class Open:
    """A frozen class without slots."""

    value: int = 1


@dataclass(eq=False, slots=True)
class Token:
    """A class whose objects are each equal to themselves alone."""

    value: int = 1


def make_twin(lazy: type[Any], **arguments: bool) -> type[Any]:
    """The same fields in a class of the standard library."""
    body = {item.name: field(default=item.default) for item in dataclasses.fields(lazy) if item.default_factory}
    body |= {
        item.name: field(
            default=item.default,
            default_factory=item.default_factory,  # type: ignore[call-overload]
            compare=item.compare,
            repr=item.repr,
            hash=item.hash,
        )
        for item in dataclasses.fields(lazy)
    }
    annotations = {item.name: item.type for item in dataclasses.fields(lazy)}
    plain = type(lazy.__name__, (), {**body, "__annotations__": annotations, "__module__": lazy.__module__})
    return dataclasses.dataclass(**arguments)(plain)  # type: ignore[call-overload, no-any-return]


TWINS = [
    (Point, make_twin(Point, frozen=True, slots=True, kw_only=True)),
    (Counter, make_twin(Counter, slots=True)),
    (Open, make_twin(Open, frozen=True, kw_only=True)),
    (Token, make_twin(Token, eq=False, slots=True)),
]


def make_objects(kind: type[Any]) -> list[Any]:
    """Objects that differ, and others that are equal to one of them."""
    if kind.__name__ == "Point":
        given = [{}, {"y": 3}, {"note": "a"}, {"key": "k"}, {"tags": ("a",)}, {"seen": [1]}]
        return [kind(x=1, **more) for more in given]
    name = dataclasses.fields(kind)[0].name
    return [kind(**{name: value}) for value in (1, 1, 2)]


@pytest.mark.parametrize(("lazy", "twin"), TWINS)
def test_it_behaves_as_the_class_of_the_standard_library(lazy: type[Any], twin: type[Any]) -> None:
    ours, theirs = make_objects(lazy), make_objects(twin)

    assert [repr(item) for item in ours] == [repr(item) for item in theirs]
    assert [[a == b for a in ours] for b in ours] == [[a == b for a in theirs] for b in theirs]
    assert ours[0] != theirs[0]
    assert str(inspect.signature(lazy)) == str(inspect.signature(twin))
    assert lazy.__match_args__ == twin.__match_args__
    assert hasattr(ours[0], "__dict__") == hasattr(theirs[0], "__dict__")
    assert (lazy.__hash__ is None) == (twin.__hash__ is None)
    assert repr(lazy.__dataclass_params__) == repr(twin.__dataclass_params__)
    first = dataclasses.fields(lazy)[0].name
    assert dataclasses.asdict(dataclasses.replace(ours[0], **{first: 7})) == dataclasses.asdict(
        dataclasses.replace(theirs[0], **{first: 7})
    )


def test_equal_objects_have_one_hash_and_what_is_not_compared_is_not_hashed() -> None:
    assert hash(Point(x=1)) == hash(Point(x=1, note="other", seen=[]))
    assert {Point(x=1), Point(x=1, note="a"), Point(x=2)} == {Point(x=1), Point(x=2)}


def test_what_is_frozen_can_neither_be_assigned_nor_deleted() -> None:
    point = Point(x=1)

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError):
        Open().other = 1  # type: ignore[attr-defined]


def test_what_is_not_frozen_can_be_changed() -> None:
    counter = Counter(1)
    counter.count += counter.step

    assert counter == Counter(2)


@pytest.mark.parametrize("given", [Point(x=1, seen=[3]), Counter(4, 2), Open(value=3)])
def test_objects_can_be_copied_and_pickled(given: object) -> None:
    assert copy.copy(given) == copy.deepcopy(given) == pickle.loads(pickle.dumps(given)) == given


def test_wrong_arguments_are_refused_with_the_name_of_the_class() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required keyword-only argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Point(x=1, z=2)  # type: ignore[call-arg]


def test_what_runs_after_the_fields_are_set_runs() -> None:
    assert Sorted((3, 1, 2)).values == (1, 2, 3)


def test_each_object_has_its_own_default() -> None:
    first, second = Point(x=1), Point(x=1)
    first.seen.append(1)

    assert second.seen == []


def test_an_object_that_holds_itself_can_be_shown() -> None:
    held: list[Any] = []
    held.append(Point(x=1, seen=held))

    assert "..." in repr(held)


def test_classes_derive_from_it_as_from_one_of_the_standard_library() -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Place(Point):
        name: str

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Home(Point):
        name: str

    class Plain(Point):
        pass

    assert Place(x=1, name="a").y == Home(x=1, name="a").y == Plain(x=1).y == 2
    assert Home(x=1, name="a") == Home(x=1, name="a") != Home(x=1, name="b")
    with pytest.raises(FrozenInstanceError):
        Home(x=1, name="a").x = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Loose", (Point,), {}))


def test_a_class_that_derives_from_another_is_as_late_as_that() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Home(Point):
        name: str = ""

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("no name")

    homes = [Home(x=1, name="a"), Home(x=1, name="b")]

    assert not inspect.isfunction(vars(Home)["__init__"])
    assert repr(homes[0]).endswith("Home(x=1, y=2, tags=(), note='', seen=[], name='a')")
    assert homes[0] != homes[1]
    assert Home.__match_args__ == ()
    assert not hasattr(homes[0], "__dict__")
    assert copy.deepcopy(homes[0]) == homes[0]
    with pytest.raises(ValueError, match="no name"):
        Home(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'y'"):
        del homes[0].y
    with pytest.raises(TypeError, match="cannot inherit frozen"):
        dataclass(frozen=True)(type("Frozen", (Counter,), {}))


def test_what_a_class_defines_itself_stays() -> None:
    @dataclass(frozen=True)
    class Named:
        name: str

        def __repr__(self) -> str:
            return self.name

    assert repr(Named("a")) == "a"
    assert Named("a") == Named("a") != Named("b")


def test_what_belongs_to_the_class_is_no_field() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Numbered:
        name: str
        number: ClassVar[int] = 3

    numbered = Numbered(name="a")

    assert [item.name for item in dataclasses.fields(numbered)] == ["name"]
    assert (Numbered.number, numbered.number) == (3, 3)
    assert repr(numbered).endswith("Numbered(name='a')")
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Numbered(name="a", number=4)  # type: ignore[call-arg]
    with pytest.raises(FrozenInstanceError):
        numbered.number = 4  # type: ignore[misc]


def test_values_that_are_only_for_what_runs_after_the_fields_get_there() -> None:
    @dataclass(frozen=True)
    class Doubled:
        value: int
        factor: dataclasses.InitVar[int] = 2

        def __post_init__(self, factor: int) -> None:
            object.__setattr__(self, "value", self.value * factor)

    assert Doubled(2, factor=3).value == 6


def test_nothing_is_compiled_for_a_few_objects_and_once_for_many() -> None:
    @dataclass(frozen=True, slots=True)
    class Used:
        value: int
        tags: list[str] = field(default_factory=list)
        number: ClassVar[int] = 3

    few = [Used(value) for value in range(OBJECTS_BEFORE_COMPILING)]
    assert not inspect.isfunction(vars(Used)["__init__"])

    many = [Used(value=value) for value in range(OBJECTS_BEFORE_COMPILING)]
    assert inspect.isfunction(vars(Used)["__init__"])
    assert few == many
    assert few[0].tags is not few[1].tags


@pytest.mark.parametrize(
    ("values", "named", "problem"),
    [
        ((), {}, "missing 1 required positional argument: 'count'"),
        ((1, 2, 3), {}, "takes from 2 to 3 positional arguments but 4 were given"),
        ((1,), {"count": 1}, "got multiple values for argument 'count'"),
        ((1,), {"other": 1}, "got an unexpected keyword argument 'other'"),
    ],
)
def test_the_first_object_refuses_wrong_arguments_in_the_words_of_the_standard_library(
    values: tuple[int, ...], named: dict[str, int], problem: str
) -> None:
    @dataclass(slots=True)
    class Counted:
        count: int
        step: int = 1

    with pytest.raises(TypeError, match=problem):
        Counted(*values, **named)


def test_a_field_that_is_no_argument_has_its_default() -> None:
    @dataclass(slots=True)
    class Counted:
        count: int
        seen: list[int] = field(default_factory=list, init=False)

    assert Counted(1).seen == []
    with pytest.raises(TypeError, match="unexpected keyword argument 'seen'"):
        Counted(1, seen=[])  # type: ignore[call-arg]


def test_a_field_without_a_default_after_one_with_a_default_is_refused_with_the_first_object() -> None:
    @dataclass()
    class Misordered:
        count: int = 1
        step: int  # type: ignore[misc]

    with pytest.raises(TypeError, match="non-default argument 'step' follows default argument"):
        Misordered(1, 2)


def test_the_first_objects_can_be_made_in_several_threads() -> None:
    @dataclass(frozen=True, slots=True)
    class Shared:
        value: int

    gate, made = threading.Barrier(8), []

    def make(number: int) -> None:
        gate.wait()
        made.append(Shared(number))

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(item.value for item in made) == list(range(8))
