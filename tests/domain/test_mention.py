import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.text.mention import as_mention, find_mentions, unfinished_mention


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
    assert as_mention(path) == text
    assert list(find_mentions(f"look at {text}, please")) == [path]


@given(st.binary(min_size=1, max_size=40).filter(lambda raw: b"\0" not in raw))
def test_every_path_there_can_be_comes_back_from_its_mention(raw):
    path = os.fsdecode(raw)

    assert list(find_mentions(f"see {as_mention(path)} and more")) == [path]


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
    assert unfinished_mention(before) == begun
