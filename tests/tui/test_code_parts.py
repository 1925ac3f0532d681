"""Colours of hunks that begin inside of a string or a comment that goes over several lines."""

from __future__ import annotations

import pytest

from quorum.tui.transcript.kinds.source import colour_lines

DOCSTRING = [
    "    Takes the values as they are and returns them in order.",
    "",
    "    It's slow for long lists.",
    '    """',
    "    result = []",
    "    for value in values:",
    "        result.append(value)",
    "    return result",
]


def styles_of(lines: list[str], path: str, *, is_part: bool = True) -> list[set[str]]:
    runs = colour_lines(lines, path, dark=True, is_part=is_part)
    assert runs is not None
    return [{str(style) for piece, style in line if piece.strip()} for line in runs]


def as_in_the_file(before: list[str], lines: list[str], path: str) -> list[set[str]]:
    """The styles that the lines have where the whole file is read."""
    return styles_of([*before, *lines], path, is_part=False)[len(before) :]


@pytest.mark.parametrize(
    ("path", "before", "lines"),
    [
        ("a.py", ["def sort(values):", '    """Sort values.', ""], DOCSTRING),
        ("a.py", ["def sort(values):", '    """Sort values.', ""], DOCSTRING[:3]),
        (
            "a.py",
            ["x = '''", "some words"],
            ["more words of a long text", "'''", "y = 1", "def f(a, b):", "    return a + b"],
        ),
        (
            "a.c",
            ["/*", " * Returns the length of the list."],
            [
                " * The list must not be empty, and it's never changed.",
                " */",
                "int length(struct list *first) {",
                "    return first->length;",
                "}",
            ],
        ),
        (
            "a.js",
            ["/**", " * Sorts the values."],
            [
                " * Numbers come before words in the list.",
                " */",
                "function sort(values) {",
                "  return values;",
                "}",
            ],
        ),
    ],
)
def test_a_part_has_the_colours_that_it_has_in_its_file(path: str, before: list[str], lines: list[str]) -> None:
    assert styles_of(lines, path) == as_in_the_file(before, lines, path)


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("a.py", ["result = []", "for value in values:", '    """A note."""', "    print(value)"]),
        ("a.py", ['    """A docstring."""', "    return 1", "", "def next_one():", '    """Another one."""']),
        ("a.py", ["    x = 1", "", "def f():", '    """Begins here', "    and goes on for many words"]),
        ("a.c", ["static size_t length;", "struct list first;", "int main(void) {", "    return 0;"]),
        ("a.ts", ["const a = `x ${b} y`;", "type Name = string;", "export default a;"]),
        ("a.go", ["func main() {", "\tvar first List", "\tfmt.Println(first)", "}"]),
    ],
)
def test_a_part_that_begins_as_code_is_read_as_code(path: str, lines: list[str]) -> None:
    assert styles_of(lines, path) == as_in_the_file([], lines, path)


def test_a_part_that_ends_in_a_comment_is_read_as_one_that_goes_on() -> None:
    lines = [".a { color: red; }", "/* A note", "   of many words in a row"]
    assert styles_of(lines, "a.css") == styles_of([*lines, "*/"], "a.css", is_part=False)[:-1]
