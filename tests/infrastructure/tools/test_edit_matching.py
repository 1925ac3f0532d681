"""Finding the passage of an edit, in files that are large or all alike: what is looked at is bounded."""

from difflib import SequenceMatcher

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.tools.builtin import edit_file
from quorum.infrastructure.tools.builtin.edit_file import replace_text


class Counting(SequenceMatcher[str]):
    compared = 0

    def ratio(self) -> float:
        type(self).compared += 1
        return super().ratio()


def _complaint(content: str, old: str) -> str:
    with pytest.raises(ToolError) as caught:
        replace_text(content, old, "x", everywhere=False, name="f")
    return str(caught.value)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    Counting.compared = 0
    monkeypatch.setattr(edit_file, "SequenceMatcher", Counting)
    return Counting


def test_lines_that_are_all_alike_are_compared_once(counting: type[Counting]) -> None:
    printed = _complaint("alike line here\n" * 20_000, "alike linx here\nand more")

    assert "1\talike line here\n2\talike line here\n3\talike line here" in printed
    assert counting.compared <= 3


@pytest.mark.long
def test_of_many_lines_only_those_that_could_be_most_similar_are_compared(counting: type[Counting]) -> None:
    lines = [f"value_{number} = compute({number})" for number in range(20_000)]

    printed = _complaint("\n".join(lines), "value_7777 = compute(7777);")

    assert "\n7778\tvalue_7777 = compute(7777)" in printed
    assert counting.compared <= 300


def test_a_passage_that_stands_very_often_is_not_counted_to_its_end() -> None:
    printed = _complaint("a" * 10_000_000, "a")

    assert "matches 100 or more times in f (lines 1, 1," in printed


def test_a_long_passage_that_differs_in_white_space_is_found_where_all_its_lines_stand() -> None:
    content = "a \n" * 10_000 + "b\n" + "c\n"

    assert "at lines 5001-10001" in _complaint(content, "a\n" * 5_000 + "b")
