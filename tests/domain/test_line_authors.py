"""Of a file that several changed one after the other it is known whose each hunk is, and what was replaced."""

from __future__ import annotations

from random import Random

import pytest

from quorum.application.staging.shared_files import LineAuthors
from quorum.domain.text.unified_diff import ChangedLines
from quorum.infrastructure.files.diff import list_hunks
from quorum.infrastructure.staging.merged_content import leave_hunks_out

BASE = b"".join(b"line %d\n" % number for number in range(120))


def changes(before: bytes, after: bytes) -> list[ChangedLines]:
    hunks = list_hunks(before, after)
    assert hunks is not None
    return [change for hunk in hunks for change in hunk]


def follow(base: bytes, *steps: tuple[str, bytes]) -> tuple[LineAuthors, list[frozenset[str]]]:
    """The authors of a file, and whose each hunk of its whole change is."""
    authors, last = LineAuthors(base.count(b"\n")), base
    for author, content in steps:
        authors.apply(author, changes(last, content))
        last = content
    hunks = list_hunks(base, last)
    assert hunks is not None
    return authors, [authors.find_authors(hunk) for hunk in hunks]


def test_hunks_are_of_those_who_wrote_or_removed_lines_in_them() -> None:
    one = BASE.replace(b"line 3\n", b"third\n")
    two = one.replace(b"line 50\n", b"")
    both = two.replace(b"line 100\n", b"line 100\nmore\n").replace(b"third\n", b"third\nand more\n")

    authors, hunks = follow(BASE, ("a", one), ("b", two), ("c", both))

    assert hunks == [{"a", "c"}, {"b"}, {"c"}]
    assert not authors.replaced


def test_lines_of_another_that_were_replaced_or_removed_are_counted() -> None:
    one = BASE.replace(b"line 3\n", b"third\nnew\n")
    authors, hunks = follow(
        BASE, ("a", one), ("b", one.replace(b"third\n", b"3\n")), ("b", BASE.replace(b"line 3\n", b"3\n"))
    )

    assert authors.replaced == {("a", "b"): 2}
    assert hunks == [{"a", "b"}]


def test_what_was_put_back_is_of_nobody() -> None:
    one = BASE.replace(b"line 3\n", b"third\n")
    _, hunks = follow(BASE, ("a", one), ("b", BASE), ("c", BASE.replace(b"line 4\n", b"")))

    assert hunks == [{"c"}]


@pytest.mark.parametrize("seed", range(20))
def test_without_the_hunks_of_one_the_file_is_as_if_it_had_not_been_there(seed: int) -> None:
    dice = Random(seed)
    places = dice.sample(range(2, 118, 8), 8)  # so far apart that no hunk is of two
    contents = {"": BASE, "a": BASE, "b": BASE}
    steps, last = [], BASE
    for number, place in enumerate(places):
        who, line = dice.choice("ab"), b"line %d\n" % place
        new = dice.choice([b"", line + b"more %d\n" % number, b"other %d\n" % number])
        last = last.replace(line, new)
        contents[who] = contents[who].replace(line, new)
        steps.append((who, last))

    _, hunks = follow(BASE, *steps)

    for who, other in ("ab", "ba"):
        theirs = {place for place, authors in enumerate(hunks) if authors == {who}}
        kept = leave_hunks_out(BASE, last, theirs) if theirs else last
        assert kept == contents[other]
