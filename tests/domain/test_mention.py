import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.text.mention import (
    LineRange,
    find_mentions,
    find_unfinished_mention,
    format_mention,
    split_begun_lines,
    split_lines,
    split_resource,
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/app.py", "@src/app.py"),
        ("docs/日本.md", "@docs/日本.md"),
        ("-rf", "@-rf"),
        ("my notes.md", '@"my notes.md"'),
        ('a"b\\c', '@"a\\"b\\\\c"'),
        ("two\nlines", '@"two\\nlines"'),
        ("odd.", '@"odd."'),
        (os.fsdecode(b"caf\xe9.txt"), '@"caf\\xe9.txt"'),
        ("\u202egpj.exe", '@"\\u202egpj.exe"'),
    ],
)
def test_a_path_is_named_as_it_stands_or_in_quotes(path, text):
    assert format_mention(path) == text
    assert list(find_mentions(f"look at {text}, please")) == [path]


@given(st.binary(min_size=1, max_size=40).filter(lambda raw: b"\0" not in raw))
def test_every_path_there_can_be_comes_back_from_its_mention(raw):
    path = os.fsdecode(raw)

    assert list(find_mentions(f"see {format_mention(path)} and more")) == [path]


@pytest.mark.parametrize("text", ["me@example.org", "git@host:repo", "a @ b", "HEAD@{1}", "x/@types"])
def test_what_only_holds_the_sign_names_no_file(text):
    assert list(find_mentions(text)) == []


def test_the_end_of_a_sentence_is_no_part_of_a_path():
    assert list(find_mentions("(see @a.py), or @b.py?")) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("before", "begun"),
    [
        ("@", (0, "")),
        ("look at @sr", (8, "sr")),
        ('look at @"my no', (8, "my no")),
        ("请看@src", (2, "src")),
        ("look at @src done", None),
        ("me@exam", None),
        ('@"my notes.md"', None),
    ],
)
def test_a_mention_is_begun_until_a_blank_or_its_closing_quote(before, begun):
    assert find_unfinished_mention(before) == begun


@pytest.mark.parametrize(
    ("mention", "path", "lines"),
    [
        ("a.py:10-40", "a.py", LineRange(10, 40)),
        ("a.py:10-", "a.py", LineRange(10, None)),
        ("a.py:10", "a.py", LineRange(10, 10)),
        ("a.py#L10-L40", "a.py", LineRange(10, 40)),
        ("a.py#L10-40", "a.py", LineRange(10, 40)),
        ("a.py#L7", "a.py", LineRange(7, 7)),
        ("a.py", "a.py", None),
        ("a:b.py", "a:b.py", None),
        ("a.py:-3", "a.py:-3", None),
        (":10", ":10", None),
        ("a.py:1234567890", "a.py:1234567890", None),
        ("a.py:10:20", "a.py:10", LineRange(20, 20)),
    ],
)
def test_a_path_may_end_in_the_lines_that_are_meant(mention: str, path: str, lines: LineRange | None) -> None:
    assert split_lines(mention) == (path, lines)


def test_lines_stand_behind_the_quotes_of_a_path_or_within_them() -> None:
    assert list(find_mentions('see @"my notes.md":3-4, @"my notes.md"#L5 and @"my notes.md:6"; not @""')) == [
        "my notes.md:3-4",
        "my notes.md#L5",
        "my notes.md:6",
    ]


def test_a_sentence_may_end_behind_the_lines() -> None:
    assert list(find_mentions("(see @src/a.py:10-40), @src/a.py: and @b.py#L3.")) == [
        "src/a.py:10-40",
        "src/a.py",
        "b.py#L3",
    ]


@pytest.mark.parametrize("begun", ["", ":", ":1", ":10-", ":10-4", "#", "#L", "#L1", "#L1-", "#L1-L", "#L1-L4"])
def test_lines_that_are_still_being_typed_are_no_part_of_the_path(begun: str) -> None:
    assert split_begun_lines(f"src/a.py{begun}") == ("src/a.py", begun)


def test_a_resource_of_a_server_is_distinguished_from_a_file() -> None:
    assert split_resource("github:issue://12/title") == ("github", "issue://12/title")
    assert not any(map(split_resource, ("a.py", "a.py:10", "https://example.org", "c:/x", "a:b")))
