from __future__ import annotations

import json
import re

import pytest

from quorum.application.identifiers import generate_id
from quorum.domain.calls.server_tools import shorten_tools
from quorum.domain.calls.summary import is_long
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.domain.text.output import Content, Structured, Text
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.tools.builtin.inspect import Inspect
from quorum.infrastructure.tools.json_schema import JsonSchema
from tests.infrastructure.tools.calling import a_context, call
from tests.support.fake_blob_store import FakeBlobStore

MOST_BYTES = 9000
LONG_TEXT = "".join(f"{n} {'é' * (n % 90)}\n" for n in range(3000))
LONG_ARRAY = [{"n": n, "é": "é" * (n % 90)} for n in range(900)]
CONTINUE = re.compile(r"continue with (.*)\]$")


class Inspector:
    """Outputs that a conversation knows, and the tool that shows them."""

    def __init__(self) -> None:
        self.store = FakeBlobStore()
        self.inspect = Inspect(self.store, self.store.contents.__contains__)

    def put(self, content: Content) -> str:
        blob_id = generate_id()
        self.store.contents[blob_id] = content
        return blob_id

    def shown(self, content: Content, selector: str | None = None) -> str:
        return call(self.inspect, blob_id=self.put(content), **({"selector": selector} if selector else {}))


@pytest.fixture
def inspector():
    return Inspector()


def numbered(*numbers: int) -> str:
    return "\n".join(f"{n}\tline {n}" for n in numbers)


def lines_to(last: int) -> Text:
    return Text("".join(f"line {n}\n" for n in range(1, last + 1)))


def test_a_model_with_short_tools_reads_where_an_id_stands(inspector):
    (tool,) = shorten_tools([JsonSchema().tool_to_schema(inspector.inspect.definition)])

    assert "[blob:" in json.dumps(tool)


@pytest.mark.requirement("D12")
def test_without_a_selector_a_text_is_identified_by_its_extent_and_its_beginning(inspector):
    blob_id = inspector.put(lines_to(2000))

    first, *lines, note = call(inspector.inspect, blob_id=blob_id).split("\n")

    assert first == f"[blob:{blob_id}] text | 2000 lines | 18893 bytes"
    assert "\n".join(lines) == numbered(*range(1, len(lines) + 1))
    assert note == f"[lines 1-{len(lines)} of 2000; continue with lines:{len(lines) + 1}-2000]"


@pytest.mark.requirement("D12")
def test_a_short_output_is_shown_whole(inspector):
    text, structured = inspector.put(Text("one\r\ntwo")), inspector.put(Structured({"a": [1, 2]}))

    assert call(inspector.inspect, blob_id=text) == (f"[blob:{text}] text | 2 lines | 8 bytes\n1\tone\n2\ttwo")
    assert call(inspector.inspect, blob_id=structured) == (
        f'[blob:{structured}] json_object | 1 keys\n{{\n  "a": [\n    1,\n    2\n  ]\n}}'
    )
    assert inspector.shown(Text("")).endswith("] text | 0 lines | 0 bytes")


@pytest.mark.requirement("D14")
def test_lines_count_from_one_and_the_last_is_included(inspector):
    assert inspector.shown(lines_to(100), "lines:20-23") == numbered(20, 21, 22, 23) + "\n[lines 20-23 of 100]"
    assert inspector.shown(lines_to(3), "lines:1-1") == numbered(1) + "\n[lines 1-1 of 3]"
    assert inspector.shown(lines_to(3), "lines:1-3") == numbered(1, 2, 3)


@pytest.mark.requirement("D12")
def test_lines_that_reach_past_the_end_stop_at_it_and_say_so(inspector):
    assert inspector.shown(lines_to(100), "lines:99-500") == numbered(99, 100) + "\n[lines 99-100 of 100]"


@pytest.mark.requirement("D14")
def test_a_slice_counts_from_zero_and_leaves_its_end_out(inspector):
    values = Structured([{"n": n} for n in range(10)])

    assert inspector.shown(values, "slice:3..5") == '[3] {"n":3}\n[4] {"n":4}\n[entries 3..5 of 10]'
    assert inspector.shown(values, "slice:9..99") == '[9] {"n":9}\n[entries 9..10 of 10]'


@pytest.mark.requirement("D12")
def test_a_key_shows_what_it_holds_and_paths_go_further_down(inspector):
    value = Structured({"results": [{"name": "é"}, {"name": "b"}], "a.b": {"c": 1}, "text": "x\ny"})

    assert inspector.shown(value, "key:results.1.name") == 'key:results.1.name string (1 bytes)\n"b"'
    assert inspector.shown(value, "key:a.b.c") == "key:a.b.c number\n1"
    assert inspector.shown(value, "key:text") == 'key:text string (3 bytes)\n"x\\ny"'
    assert inspector.shown(value, "key:results.0") == 'key:results.0 object (1 keys)\n{\n  "name": "é"\n}'
    assert inspector.shown(Structured([[1, 2], [3]]), "key:1.0") == "key:1.0 number\n3"


@pytest.mark.requirement("D12")
def test_a_key_can_be_followed_by_a_page_of_what_it_holds(inspector):
    value = Structured({"log": "a\nb\nc", "my results": {"all": list(range(50))}})

    assert inspector.shown(value, "key:my results.all slice:7..9") == "[7] 7\n[8] 8\n[entries 7..9 of 50]"
    assert inspector.shown(value, "key:log lines:2-3") == "2\tb\n3\tc\n[lines 2-3 of 3]"


@pytest.mark.requirement("D12")
def test_a_large_array_is_identified_by_its_schema_and_its_first_entries(inspector):
    blob_id = inspector.put(Structured([{"name": "x" * 100, "n": n} for n in range(500)]))

    lines = call(inspector.inspect, blob_id=blob_id).split("\n")

    assert lines[:5] == [
        f"[blob:{blob_id}] json_array | 500 entries",
        "── schema ──",
        "name: string",
        "n: number",
        "── head ──",
    ]
    shown = len(lines) - 6
    assert lines[-1] == f"[entries 0..{shown} of 500; continue with slice:{shown}..500]"
    assert json.loads(lines[-2].removeprefix(f"[{shown - 1}] "))["n"] == shown - 1


@pytest.mark.requirement("D12")
def test_a_large_object_is_identified_by_its_keys(inspector):
    value = Structured({"inner": {f"key{n:04}": "x" * 99 for n in range(1000)}})

    lines = inspector.shown(value, "key:inner").split("\n")

    shown = len(lines) - 3
    assert lines[:3] == ["key:inner object (1000 keys)", "── keys ──", "key0000: string (99 bytes)"]
    assert lines[-1] == f"[key:inner.NAME shows one of them; {1000 - shown} more keys are not listed]"


@pytest.mark.parametrize(
    ("content", "selector", "expected"),
    [
        (Text(LONG_TEXT), "", range(1, 3001)),
        (Structured({"log": LONG_TEXT}), "key:log", range(1, 3001)),
        (Structured(LONG_ARRAY), "", range(900)),
        (Structured({"a": LONG_ARRAY}), "key:a", range(900)),
    ],
    ids=["text", "text in JSON", "array", "array in JSON"],
)
@pytest.mark.requirement("D14")
def test_every_page_is_bounded_and_says_how_to_go_on_to_the_end(inspector, content, selector, expected):
    blob_id = inspector.put(content)
    places: list[int] = []

    while selector is not None:
        page = call(inspector.inspect, blob_id=blob_id, selector=selector)
        assert len(page.encode()) <= MOST_BYTES
        places += [int(n) for n in re.findall(r"^(?: *(?=\d+\t)|\[(?=\d+\] ))(\d+)", page, re.MULTILINE)]
        further = CONTINUE.search(page)
        selector = further[1] if further else None

    assert places == list(expected)


@pytest.mark.parametrize(
    ("content", "prefix"), [(Text("é" * 30_000), ""), (Structured({"a": ["é" * 30_000]}), "key:a.0 ")]
)
@pytest.mark.requirement("D14")
def test_a_line_too_long_for_a_page_can_be_read_on_by_characters(inspector, content, prefix):
    blob_id = inspector.put(content)
    page = call(inspector.inspect, blob_id=blob_id, selector=prefix + "lines:1-1")
    shown = page.count("é")
    rest = re.search(r"\[line cut: (.*) shows the rest\]", page)

    further: str | None = rest[1]
    while further:
        page = call(inspector.inspect, blob_id=blob_id, selector=further)
        assert len(page.encode()) <= MOST_BYTES
        shown += page.count("é")
        match = CONTINUE.search(page)
        further = match[1] if match else None

    assert page.endswith("of 30000]")
    assert shown == 30_000


@pytest.mark.requirement("D14")
def test_an_entry_too_long_for_a_page_says_which_key_shows_it(inspector):
    value = Structured({"a": [{"long": "x" * 50_000}]})

    page = inspector.shown(value, "key:a slice:0..1")

    assert page.endswith("… [entry cut: key:a.0 shows what is in it]")
    assert len(page) < 2000
    assert len(inspector.shown(value, "key:a.0.long").encode()) <= MOST_BYTES


@pytest.mark.requirement("D14")
def test_nothing_that_inspect_shows_is_put_aside_again(inspector):
    assert not is_long("x" * MOST_BYTES, inspector.inspect.definition.inline_bytes)


@pytest.mark.parametrize(
    ("content", "selector", "complaint"),
    [
        (lines_to(9), "slice:0..3", "slice: needs an array, and the output is text of 9 lines: use lines:1-9"),
        (lines_to(9), "key:a", "key: needs JSON, and this output is text of 9 lines: use lines:1-9"),
        (
            Structured([1, 2]),
            "lines:1-2",
            "lines: needs text, and the output is an array of 2 entries: use slice:0..2 or key:0",
        ),
        (
            Structured({"a": 1}),
            "slice:0..1",
            "slice: needs an array, and the output is an object of 1 keys: use key:a",
        ),
        (
            Structured({"a": {"b": 1}}),
            "key:a lines:1-2",
            "lines: needs text, and key:a is an object of 1 keys: use key:a.b",
        ),
        (Structured({"a": 1}), "key:a.b", "a is a number, in which there are no keys"),
        (Structured(1), "key:a", "the output is a number, in which there are no keys"),
        (Structured(1), "chars:1-2", "chars: needs text, and the output is a number"),
    ],
)
@pytest.mark.requirement("D12")
def test_a_selector_of_the_wrong_kind_is_an_error_that_names_the_right_one(
    inspector, content, selector, complaint
):
    with pytest.raises(ToolError, match=f"^{re.escape(complaint)}$"):
        inspector.shown(content, selector)


@pytest.mark.parametrize(
    ("content", "selector", "complaint"),
    [
        (lines_to(9), "lines:10-12", "lines:10-12 is past the end: this is text of 9 lines: use lines:1-9"),
        (Text(""), "lines:1-2", "lines:1-2 is past the end: this is an empty text"),
        (
            Structured([1, 2]),
            "slice:2..4",
            "slice:2..4 is past the end: this is an array of 2 entries: use slice:0..2 or key:0",
        ),
        (
            Structured([]),
            "slice:0..1",
            "slice:0..1 is past the end: this is an array (0 entries)",
        ),
        (Structured([1, 2]), "key:2", "the output has no entry 2: its entries are 0 to 1"),
        (Structured({"a": []}), "key:a.0", "a is an empty array"),
        (Structured([1, 2]), "key:x", "the output is an array, and x is not an index: its entries are 0 to 1"),
        (Structured({"a": {"b": 1, "c": 2}}), "key:a.x", "a has no key x: its keys are b, c"),
        (Structured({}), "key:x", "the output has no key x: its keys are none"),
        (Text("abc"), "chars:4-5", "chars:4-5 is past the end of the text: it has 3 characters: use chars:1-3"),
    ],
)
@pytest.mark.requirement("D12")
def test_a_selector_past_the_end_is_an_error_that_tells_what_there_is(inspector, content, selector, complaint):
    with pytest.raises(ToolError, match=f"^{re.escape(complaint)}$"):
        inspector.shown(content, selector)


@pytest.mark.parametrize(
    "selector",
    [
        "lines",
        "lines:",
        "lines:3",
        "lines:a-b",
        "lines:-1-3",
        "slice:3-5",
        "slice:3..",
        "key:",
        "head",
        "key:\n",
        "lines:1-" + "9" * 5000,
        "lines:١-٢",
        "\x1b[2J",
    ],
)
@pytest.mark.requirement("D12")
def test_a_selector_that_is_none_is_an_error_that_shows_all_forms(inspector, selector):
    with pytest.raises(
        ToolError, match=r"is not understood: use lines:20-50 .*slice:3\.\.8 .*key:results"
    ) as caught:
        inspector.shown(lines_to(9), selector)

    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("selector", ["lines:0-5", "lines:5-4", "slice:3..3", "slice:5..2", "chars:0-1"])
@pytest.mark.requirement("D12")
def test_a_range_that_holds_nothing_is_an_error_that_says_how_to_count(inspector, selector):
    with pytest.raises(ToolError, match=f"^{re.escape(selector)} (holds no entry: the end|is empty: )"):
        inspector.shown(lines_to(9), selector)


@pytest.mark.requirement("D12")
def test_only_outputs_of_this_conversation_are_opened(inspector):
    foreign = generate_id()
    inspector.store.contents[foreign] = Text("of another session")
    inspect = Inspect(inspector.store, {generate_id()}.__contains__)

    for unknown in (foreign, "../x", "\x1b[2J"):
        with pytest.raises(ToolError, match="this conversation has no stored output") as caught:
            call(inspect, blob_id=unknown)
        assert str(caught.value).isprintable()
        assert str(caught.value).endswith("; a result without such a line is whole")


@pytest.mark.requirement("D12")
def test_an_id_may_come_in_the_brackets_it_was_read_in(inspector):
    blob_id = inspector.put(Text("one"))

    for written in (f"[blob:{blob_id}]", f"blob:{blob_id}", f" {blob_id} "):
        assert call(inspector.inspect, blob_id=written).endswith("\tone")


@pytest.mark.requirement("D12")
async def test_an_output_whose_file_is_gone_is_an_error_that_names_it(tmp_path, inspector):
    store = FileBlobStore(tmp_path)
    inspect = Inspect(store, lambda _id: True)
    blob_id = await store.store(Text("one"))
    store.find_path(blob_id).unlink()

    with pytest.raises(ToolError, match=f"there is no stored output {blob_id}"):
        await inspect.execute({"blob_id": blob_id}, a_context())


def test_halves_of_surrogate_pairs_do_not_reach_the_model(inspector):
    assert inspector.shown(Text("a\ud800b")).endswith("\ta?b")
    assert inspector.shown(Structured(["\ud800"])).endswith('"?"\n]')


@pytest.mark.requirement("D11")
def test_inspect_is_low_risk_and_runs_beside_anything_that_changes_nothing(inspector):
    definition = inspector.inspect.definition

    assert definition.name == "inspect"
    assert definition.risk is RiskLevel.LOW
    assert definition.determine_access({"blob_id": "x"}).is_concurrency_safe
    assert JsonSchema().find_problems(definition, {"blob_id": "x", "selector": "lines:1-2"}) == ()
    assert JsonSchema().find_problems(definition, {"selector": "lines:1-2"})
