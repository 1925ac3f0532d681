from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.summary import (
    count_lines,
    extract_text,
    is_long,
    keep_both_ends,
    render_header,
    summarise_content,
)
from quorum.domain.text.json_text import count_utf8_bytes
from quorum.domain.text.output import Inline, OutputLimits, Stored, Structured, Text

ID = "0199f3c2-1f00-7abc-8def-0123456789ab"
DEFAULTS = OutputLimits()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=30), inner, max_size=12),
    max_leaves=30,
)
any_text = st.text(st.characters(), max_size=900) | st.lists(st.text(max_size=90), max_size=30).map("\n".join)
contents = any_text.map(Text) | json_values.map(Structured)


def lines_of(*numbers: range) -> str:
    return "\n".join(f"line {n}" for some in numbers for n in some)


def rules_of(summary: str) -> list[str]:
    return [line for line in summary.split("\n") if line.startswith("──")]


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("a" * 800, False),
        ("a" * 801, True),
        ("あ" * 266 + "ab", False),
        ("あ" * 267, True),
        ("é" * 400, False),
        ("é" * 400 + "a", True),
        ("", False),
    ],
)
@pytest.mark.requirement("D02")
def test_a_text_is_long_above_the_limit_in_bytes_not_in_characters(text, long):
    assert is_long(text, 800) is long


@pytest.mark.requirement("D03")
def test_of_a_hundred_lines_five_and_three_are_shown_within_400_bytes():
    summary = summarise_content(Text("\n".join(f"{n} " + "é" * 120 for n in range(100))), ID, DEFAULTS)

    header, *rest = summary.split("\n")
    head, tail = rest[1:6], rest[7:]
    assert header == f"[blob:{ID}] text | 100 lines"
    assert rules_of(summary) == ["── head ──", "── tail ──"]
    assert [line.split()[0] for line in head + tail] == ["0", "1", "2", "3", "4", "97", "98", "99"]
    assert all(line.endswith("é…") for line in head + tail)
    assert len(summary.encode()) <= 400


@pytest.mark.requirement("D04")
def test_a_text_is_summed_up_by_its_first_five_and_last_three_lines():
    assert summarise_content(Text(lines_of(range(100)) + "\n"), ID, DEFAULTS) == (
        f"[blob:{ID}] text | 100 lines\n"
        f"── head ──\n{lines_of(range(5))}\n── tail ──\n{lines_of(range(97, 100))}"
    )


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.requirement("D04")
def test_no_line_of_a_short_text_is_shown_twice(count):
    head, tail = lines_of(range(min(count, 5))), lines_of(range(5, count))

    summary = summarise_content(Text(lines_of(range(count))), ID, DEFAULTS)

    assert summary == f"[blob:{ID}] text | {count} lines\n── head ──\n{head}" + (
        f"\n── tail ──\n{tail}" if tail else ""
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\nb", 3), ("a\r\nb\r\n", 2), ("a\x0b\u2028b", 1)],
)
@pytest.mark.requirement("D04")
def test_only_a_newline_ends_a_line_and_the_last_one_begins_no_other(text, count):
    assert count_lines(text) == count
    assert render_header(Text(text), ID).endswith(f"text | {count} lines")


@pytest.mark.requirement("D04")
def test_the_numbers_of_lines_and_bytes_follow_the_limits():
    limits = OutputLimits(summary_bytes=1000, head_lines=1, tail_lines=2)

    assert summarise_content(Text(lines_of(range(9))), ID, limits) == (
        f"[blob:{ID}] text | 9 lines\n── head ──\nline 0\n── tail ──\nline 7\nline 8"
    )


@pytest.mark.requirement("D05")
def test_an_array_is_summed_up_by_the_schema_of_its_first_entry_and_its_first_two():
    entries = [
        {"name": f"é{n}", "size": n, "tags": ["x"], "more": {}, "ok": True, "no": None} for n in range(9)
    ]

    assert summarise_content(Structured(entries), ID, DEFAULTS) == (
        f"[blob:{ID}] json_array | 9 entries\n"
        "── schema ──\nname: string\nsize: number\ntags: array\nmore: object\nok: boolean\nno: null\n"
        "── head ──\n"
        '{"name":"é0","size":0,"tags":["x"],"more":{},"ok":true,"no":null}\n'
        '{"name":"é1","size":1,"tags":["x"],"more":{},"ok":true,"no":null}'
    )


@pytest.mark.parametrize(
    ("entries", "rest"),
    [
        ([], ""),
        ([1, 2.5, 3], "\n── schema ──\nnumber\n── head ──\n1\n2.5"),
        (["a\nb"], '\n── schema ──\nstring\n── head ──\n"a\\nb"'),
        ([[1], [2]], "\n── schema ──\narray\n── head ──\n[1]\n[2]"),
        ([{}], "\n── schema ──\nobject\n── head ──\n{}"),
    ],
)
@pytest.mark.requirement("D05")
def test_arrays_of_scalars_and_empty_ones_have_a_summary_too(entries, rest):
    header = f"[blob:{ID}] json_array | {len(entries)} entries"

    assert summarise_content(Structured(entries), ID, DEFAULTS) == header + rest


@pytest.mark.requirement("D06")
def test_an_object_is_summed_up_by_its_keys_with_type_and_size():
    value = {
        "results": [1] * 120,
        "name": "é",
        "meta": MappingProxyType({"a": 1}),
        "pair": (1, 2),
        "count": 3,
        "ok": False,
        "none": None,
        "two\nlines": 1,
        "": 2,
    }

    assert summarise_content(Structured(value), ID, DEFAULTS) == (
        f"[blob:{ID}] json_object | 9 keys\n── keys ──\n"
        "results: array (120 entries)\nname: string (2 bytes)\nmeta: object (1 keys)\npair: array (2 entries)\n"
        'count: number\nok: boolean\nnone: null\n"two\\nlines": number\n"": number'
    )
    assert summarise_content(Structured({}), ID, DEFAULTS) == f"[blob:{ID}] json_object | 0 keys"


@pytest.mark.requirement("D06")
def test_keys_that_there_is_no_room_for_leave_a_mark():
    summary = summarise_content(Structured({f"key{n:03}": n for n in range(200)}), ID, DEFAULTS)

    header, rule, *keys, mark = summary.split("\n")
    assert (header, rule) == (f"[blob:{ID}] json_object | 200 keys", "── keys ──")
    assert keys == [f"key{n:03}: number" for n in range(len(keys))]
    assert mark == "…"
    assert 380 < len(summary.encode()) <= 400


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("é" * 3, f'[blob:{ID}] json_string | 6 bytes\n── head ──\n"ééé"'),
        (1.5, f"[blob:{ID}] json_number\n── head ──\n1.5"),
        (True, f"[blob:{ID}] json_boolean\n── head ──\ntrue"),
        (None, f"[blob:{ID}] json_null\n── head ──\nnull"),
    ],
)
@pytest.mark.requirement("D06")
def test_a_lone_value_is_named_by_its_type(value, expected):
    assert summarise_content(Structured(value), ID, DEFAULTS) == expected


@pytest.mark.requirement("D14")
def test_printed_json_stays_text():
    assert summarise_content(Text('{"a": 1}'), ID, DEFAULTS) == (
        f'[blob:{ID}] text | 1 lines\n── head ──\n{{"a": 1}}'
    )


@pytest.mark.requirement("D14")
def test_where_eight_lines_are_too_much_the_head_is_cut_before_the_tail():
    lines = [f"{n} " + "x" * 54 for n in range(100)]

    summary = summarise_content(Text("\n".join(lines)), ID, DEFAULTS)

    shown = summary.split("\n")
    assert shown[-3:] == lines[-3:]
    assert all(line.endswith("x…") for line in shown[2:7])
    assert len(summary.encode()) <= 400


@pytest.mark.requirement("D14")
def test_short_lines_leave_their_room_to_long_ones():
    text = "a\nb\n" + "é" * 400 + "\nd\ne\nf\ng\nh"

    summary = summarise_content(Text(text), ID, DEFAULTS)

    [long] = [line for line in summary.split("\n") if line.startswith("é")]
    assert long.endswith("…")
    assert 398 <= len(summary.encode()) <= 400


@pytest.mark.requirement("D14")
def test_as_the_room_shrinks_the_head_goes_first_then_the_tail_and_never_the_header():
    text = Text("\n".join(f"{n} " + "x" * 100 for n in range(100)))
    header = render_header(text, ID)

    summaries = [summarise_content(text, ID, OutputLimits(summary_bytes=room)) for room in range(400, 0, -1)]

    kept = [rules_of(summary) for summary in summaries]
    both, tail_only, none = ["── head ──", "── tail ──"], ["── tail ──"], []
    assert [rules for place, rules in enumerate(kept) if rules != kept[place - 1]] == [both, tail_only, none]
    assert all(summary.split("\n")[-1].startswith("99 x") for summary in summaries if rules_of(summary))
    assert summaries[-1] == header


@pytest.mark.requirement("D14")
def test_halves_of_surrogate_pairs_do_not_reach_the_summary():
    text = summarise_content(Text("a\ud800b"), ID, DEFAULTS)
    structured = summarise_content(Structured({"\udc00": ["\ud800"]}), ID, DEFAULTS)

    assert text.endswith("\na?b")
    assert structured.endswith('\n"\\udc00": array (1 entries)')


@pytest.mark.requirement("D14")
def test_a_value_nested_without_end_is_cut_like_any_other():
    value: list = []
    for _ in range(50_000):
        value = [value]

    summary = summarise_content(Structured([value]), ID, OutputLimits(summary_bytes=10_000))

    assert summary.endswith("[[[…")


@given(contents, st.integers(0, 600), st.integers(0, 9), st.integers(0, 9))
@pytest.mark.requirement("D14")
def test_no_summary_is_longer_than_it_may_be_unless_it_is_the_header_alone(content, cap, head, tail):
    limits = OutputLimits(summary_bytes=cap, head_lines=head, tail_lines=tail)
    header = render_header(content, ID)

    summary = summarise_content(content, ID, limits)

    assert len(summary.encode()) <= cap or summary == header
    assert summary == header or summary.startswith(header + "\n")


@pytest.mark.requirement("D10")
def test_without_a_store_the_whole_output_is_text():
    assert extract_text(Inline("as it is")) == "as it is"
    assert extract_text(Stored(Text("all\nof it\n"), "a summary")) == "all\nof it\n"
    assert extract_text(Stored(Structured({"é": (1, MappingProxyType({}))}))) == (
        '{\n  "é": [\n    1,\n    {}\n  ]\n}'
    )


@pytest.mark.requirement("D10")
def test_even_a_value_nested_without_end_becomes_text():
    value: list = []
    for _ in range(50_000):
        value = [value]

    assert extract_text(Stored(Structured(value))).endswith("[…")


@pytest.mark.parametrize("room", [40, 200, 400, 1000, 6000])
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(str, range(5000))),
        "x" * 30_000,
        "é" * 9000 + "\n" + "end\n",
        "\n" * 9000,
        "a\r\n" * 9000,
        "\ud83d" * 8000,
    ],
    ids=["numbers", "one line", "two bytes", "newlines", "returns", "half pairs"],
)
def test_both_ends_of_a_text_fit_into_their_room(text: str, room: int):
    shown = keep_both_ends(text, room)

    assert count_utf8_bytes(shown) <= room
    shown.encode()


def test_both_ends_are_whole_lines_and_say_where_the_rest_begins():
    text = "".join(f"line {number}\n" for number in range(1, 1001))

    head, tail = keep_both_ends(text, 1000).split("\n── tail ──\n")

    *lines, hint = head.removeprefix("── head ──\n").split("\n")
    assert lines == [f"line {number}" for number in range(1, len(lines) + 1)]
    assert hint == f"… left out here; inspect shows it: lines:{len(lines) + 1}-{len(lines) + 100} …"
    ending = tail.split("\n")
    assert ending == [f"line {number}" for number in range(1001 - len(ending), 1001)]
    assert len(ending) > len(lines)


def test_of_a_line_that_is_too_long_both_ends_are_shown_and_the_characters_named():
    head, tail = keep_both_ends("start" + "x" * 20_000 + "end", 1000).split("\n── tail ──\n")

    shown, hint = head.removeprefix("── head ──\n").split("\n")
    assert shown.startswith("start")
    assert shown.endswith("…")
    assert f"chars:{len(shown)}-" in hint
    assert tail.startswith("…x")
    assert tail.endswith("xend")


def test_a_text_that_fits_is_shown_as_it_is():
    assert keep_both_ends("one\ntwo\n", 100) == "one\ntwo\n"
