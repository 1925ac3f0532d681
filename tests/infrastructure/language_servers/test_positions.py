from __future__ import annotations

import pytest

from quorum.domain.errors import ToolError
from quorum.infrastructure.language_servers.found_problems import (
    CodeLocation,
    CodePosition,
    build_uri,
    encode_position,
    find_symbol,
    read_locations,
    read_uri,
)

TEXT = "x = 1\r\n😀é = total(order.total)\n# total\n"


@pytest.mark.parametrize(("encoding", "character"), [("utf-32", 5), ("utf-16", 6), ("utf-8", 9)])
def test_places_are_counted_in_the_units_of_the_encoding(encoding: str, character: int) -> None:
    position = find_symbol(TEXT, "total", None)

    assert position == CodePosition(1, 5)
    assert encode_position(TEXT, position, encoding) == {"line": 1, "character": character}  # type: ignore[arg-type]


def test_a_dotted_name_leads_to_its_last_part() -> None:
    assert find_symbol(TEXT, "order.total", None) == CodePosition(1, 17)


def test_a_line_chooses_among_several_places() -> None:
    assert find_symbol(TEXT, "total", 3) == CodePosition(2, 2)


@pytest.mark.parametrize(
    ("symbol", "line", "said"),
    [("tot", None, "the file does not hold"), ("x", 2, "line 2 does not hold"), ("x", 9, "no line 9")],
)
def test_a_name_that_is_not_there_is_an_error_that_says_where(symbol: str, line: int | None, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        find_symbol(TEXT, symbol, line)


def test_names_with_signs_are_found_as_they_are() -> None:
    assert find_symbol("a.b*c\n@x.y\n", "@x", None) == CodePosition(1, 1)
    assert find_symbol("f(a+b)\n", "+", None) == CodePosition(0, 3)


@pytest.mark.parametrize("path", ["/a/b c/é#?%.py", "/tmp/x", "/a/\udcff.py"])
def test_an_address_leads_back_to_its_path(path: str) -> None:
    assert read_uri(build_uri(path)) == path


@pytest.mark.parametrize(
    "uri", ["", "untitled:1", "http://x/y", "file://host/x", "file:x", "file:///a%00b", "file://[", "jdt://a/b"]
)
def test_what_is_no_file_of_this_machine_has_no_path(uri: str) -> None:
    assert read_uri(uri) is None


def test_an_address_cannot_lead_upwards_unseen() -> None:
    assert read_uri("file:///ws/%2e%2e/etc/x") == "/etc/x"


def span(line: object) -> dict[str, object]:
    return {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}


def test_locations_and_links_are_read_and_all_else_is_left_out() -> None:
    answer = [
        {"uri": "file:///a", "range": span(1)},
        {"targetUri": "file:///b", "targetRange": span(1), "targetSelectionRange": span(2)},
        {"uri": "file:///c", "range": span(-1)},
        {"uri": "file:///d", "range": span(1.5)},
        {"uri": 3, "range": span(1)},
        {"uri": "file:///e"},
        None,
        "file:///f",
    ]

    assert list(read_locations(answer)) == [CodeLocation("file:///a", 1), CodeLocation("file:///b", 2)]
    assert list(read_locations({"uri": "file:///a", "range": span(1)})) == [CodeLocation("file:///a", 1)]
    assert list(read_locations(None)) == []
