"""What is read from an answer's text as a call, and what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.tool import TOOL_PARSERS, ToolParser
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.textual_calls.families import RESULTS, get_family
from quorum.domain.textual_calls.forms import TextualCall
from quorum.domain.textual_calls.leaked_call import find_leaked_call
from quorum.domain.textual_calls.reader import (
    CallBegun,
    Piece,
    ResultBegun,
    TextualCallReader,
    ThinkingEnded,
    ThoughtPiece,
    Words,
)
from tests.support.every import every
from tests.support.examples import examples

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "limit": {"type": "integer"},
        "raw": {"type": "boolean"},
        "edits": {"type": "array"},
    },
}
TOOLS = {"write_file": SCHEMA, "read_file": SCHEMA, "list_jobs": {}}
CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'
TAGGED = f"<tool_call>\n{CALL}\n</tool_call>"
READ: tuple[str, JsonObject] = ("read_file", {"path": "a.py"})

ODD = 'if x < 1:\n    print("a\\t}")  # </tool_call> <b>\n'
ODD_JSON = json.dumps(ODD)
FULL: Mapping[str, JsonValue] = {"path": "b.py", "content": ODD, "limit": 3, "raw": True, "edits": ["x"]}
FULL_JSON = json.dumps(FULL)
XML = (
    f"<parameter=path>\nb.py\n</parameter>\n<parameter=content>\n{ODD}\n</parameter>\n<parameter=limit>\n3\n</parameter>\n"
    '<parameter=raw>\nTrue\n</parameter>\n<parameter=edits>\n["x"]\n</parameter>\n'
)
WRITTEN: dict[ToolParser, str] = {
    "hermes": f'<tool_call>\n{{"name": "write_file", "arguments": {FULL_JSON}}}\n</tool_call>',
    "qwen-coder": f"<tool_call>\n<function=write_file>\n{XML}</function>\n</tool_call>",
    "llama": f'{{"name": "write_file", "parameters": {FULL_JSON}}}',
    "mistral": f"[TOOL_CALLS]write_file[ARGS]{FULL_JSON}",
    "deepseek": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n```json\n"
        f"{FULL_JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "glm": (
        "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>b.py</arg_value>\n<arg_key>content</arg_key>\n"
        f"<arg_value>{ODD}</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n<arg_key>raw</arg_key>\n"
        '<arg_value>true</arg_value>\n<arg_key>edits</arg_key>\n<arg_value>["x"]</arg_value>\n</tool_call>'
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>"
        f"{FULL_JSON}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "granite": f'<|tool_call|>[{{"name": "write_file", "arguments": {FULL_JSON}}}]',
    "gpt-oss": (
        "<|channel|>analysis<|message|>It is to be written.<|end|><|start|>assistant<|channel|>commentary "
        f"to=functions.write_file <|constrain|>json<|message|>{FULL_JSON}<|call|>"
    ),
    "functionary": f">>>write_file\n{FULL_JSON}",
    "gemma": (
        f'<|tool_call>call:write_file{{path:<|"|>b.py<|"|>,content:<|"|>{ODD}<|"|>,limit:3,raw:true,'
        'edits:[<|"|>x<|"|>]}<tool_call|>'
    ),
    "minimax": (
        '<minimax:tool_call>\n<invoke name="write_file">\n<parameter name="path">b.py</parameter>\n'
        f'<parameter name="content">{ODD}</parameter>\n<parameter name="limit">3</parameter>\n'
        '<parameter name="raw">true</parameter>\n<parameter name="edits">["x"]</parameter>\n</invoke>\n'
        "</minimax:tool_call>"
    ),
    "command": (
        "<|START_THINKING|>I write it.<|END_THINKING|><|START_ACTION|>[\n"
        f'{{"tool_call_id": "0", "tool_name": "write_file", "parameters": {FULL_JSON}}}\n]<|END_ACTION|>'
    ),
    "lfm2": (
        f'<|tool_call_start|>[write_file(path="b.py", content={ODD_JSON}, limit=3, raw=True, edits=["x"])]'
        "<|tool_call_end|>"
    ),
    "internlm": (
        f'<|action_start|><|plugin|>\n{{"name": "write_file", "parameters": {FULL_JSON}}}<|action_end|>'
    ),
    "phi": f'functools[{{"name": "write_file", "arguments": {FULL_JSON}}}]',
    "nemotron": f'<TOOLCALL>[{{"name": "write_file", "arguments": {FULL_JSON}}}]</TOOLCALL>',
    "json": f'```json\n{{"name": "write_file", "arguments": {FULL_JSON}}}\n```',
}


def read(text: str, parser: ToolParser = "hermes", *, step: int = 0, is_cut: bool = False) -> list[Piece]:
    """What counts: all behind thinking that began in the prompt."""
    pieces = read_all(text, parser, step=step, is_cut=is_cut)
    ends = [at for at, piece in enumerate(pieces) if isinstance(piece, ThinkingEnded)]
    return pieces[ends[-1] + 1 :] if ends else pieces


def read_all(
    text: str,
    parser: ToolParser = "hermes",
    *,
    step: int = 0,
    is_cut: bool = False,
    begins_in_thought: bool | None = None,
) -> list[Piece]:
    reader = TextualCallReader(get_family(parser), TOOLS, begins_in_thought=begins_in_thought)

    def feed() -> Iterator[Piece]:
        width = step or max(1, len(text))
        for at in range(0, len(text), width):
            yield from reader.feed(text[at : at + width])
        yield from reader.finish(is_cut=is_cut)

    return list(feed())


def list_calls(pieces: list[Piece]) -> list[tuple[str, JsonObject]]:
    return [(piece.name, json.loads(piece.arguments)) for piece in pieces if isinstance(piece, TextualCall)]


def get_words(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Words))


def test_every_family_has_an_example_here() -> None:
    assert set(WRITTEN) == set(TOOL_PARSERS)


@pytest.mark.parametrize("step", [0, 1, 7], ids=["whole", "by character", "in pieces"])
@pytest.mark.parametrize("parser", TOOL_PARSERS)
def test_a_call_is_read_however_the_answer_arrives(parser: ToolParser, step: int) -> None:
    pieces = read(WRITTEN[parser], parser, step=step)

    assert list_calls(pieces) == [("write_file", FULL)]
    assert get_words(pieces).strip() == ""


@pytest.mark.parametrize("parser", [each for each in TOOL_PARSERS if each not in ("json", "llama")])
def test_words_before_a_call_are_told_at_once(parser: ToolParser) -> None:
    reader = TextualCallReader(get_family(parser), TOOLS)
    first = list(reader.feed("I write it now.\n"))

    assert get_words(first) == "I write it now.\n"
    assert list_calls([*reader.feed(WRITTEN[parser]), *reader.finish(is_cut=False)]) == [("write_file", FULL)]


@pytest.mark.parametrize(
    "parser", [each for each in TOOL_PARSERS if each not in ("json", "llama", "functionary")]
)
@pytest.mark.parametrize("mark", ["```", "~~~", "`````", "```json"])
def test_a_fence_mark_within_a_line_does_not_hold_back_what_follows(parser: ToolParser, mark: str) -> None:
    reader = TextualCallReader(get_family(parser), TOOLS)
    told = ""
    for at, character in enumerate(text := f"The mark {mark} begins a fence, and I go on with it.\n"):
        told += get_words(list(reader.feed(character)))
        assert len(text[: at + 1]) - len(told) <= 3  # "to=" may begin a call
    assert told == text


def test_the_tool_is_named_while_its_arguments_are_being_written() -> None:
    reader = TextualCallReader(get_family("qwen-coder"), TOOLS)

    assert list(reader.feed("<tool_call>\n<function=write_file>\n<parameter=path>\nb")) == [
        CallBegun("write_file")
    ]


@every("parser", TOOL_PARSERS)
@pytest.mark.parametrize(
    "frame",
    [
        "It is written so:\n\n```xml\n{}\n```\n",
        "It is written so:\n\n~~~\n{}\n~~~\nNothing else.",
        "1. so:\n   ```\n   {}\n   ```\nNothing else.",
        "It is written as `{}`, in one line.",
        'One writes "{}" then.',
        "> {}\n\nis what the page says.",
        "For example:\n{}",
        "<think>\n{}\n</think>\nThere is nothing to do.",
        "{}\n</think>\nThere is nothing to do.",
        "<think>\n{}",
        "    {}\n\nis code, being indented.",
        "| form | text |\n|---|---|\n| theirs | {} |",
    ],
    ids=[
        "fence",
        "tildes",
        "list",
        "code",
        "quotes",
        "quotation",
        "example",
        "thought",
        "prefilled",
        "open",
        "indented",
        "table",
    ],
)
def test_what_is_shown_or_thought_is_no_call(parser: ToolParser, frame: str) -> None:
    is_inline = "`{}`" in frame or "| {} |" in frame
    shown = frame.replace("{}", WRITTEN[parser].replace("\n", " ") if is_inline else WRITTEN[parser])
    for step in (0, 1):
        assert list_calls(read(shown, parser, step=step)) == []


def test_a_fence_that_is_closed_hides_nothing_behind_it() -> None:
    pieces = read(f"This is it:\n```python\nprint()\n```\nNow I read it.\n{TAGGED}")

    assert list_calls(pieces) == [READ]
    assert get_words(pieces) == "This is it:\n```python\nprint()\n```\nNow I read it.\n"


@pytest.mark.parametrize("step", [0, 1, 3, 500], ids=lambda step: f"in pieces of {step}")
@pytest.mark.parametrize(
    "before", ["", f"{'a' * 498}\n", "So:\n"], ids=["first", "behind many words", "behind words"]
)
def test_a_fence_is_as_long_as_its_mark_however_it_arrives(step: int, before: str) -> None:
    text = f"{before}````\n```\n{TAGGED}\n```\n{TAGGED}\n````\n"

    assert list_calls(read(text, step=step)) == []
    assert get_words(read(text, step=step)) == text
    assert list_calls(read(f"{text}{TAGGED}", step=step)) == [READ]


def test_a_line_in_a_fence_is_told_while_it_is_written() -> None:
    reader = TextualCallReader(get_family("hermes"), TOOLS)
    told = ""
    for character in (text := "```\nThe mark ``` is in `it`, as is ~~~ and `"):
        told += get_words(list(reader.feed(character)))
    assert told == text


@pytest.mark.parametrize("step", [0, 4])
@pytest.mark.parametrize("parser", ["json", "llama", "hermes", "command", "gpt-oss"])
@every("begun", ["", "<tool_call>", "<tool_call>{", '{"name": "', "```\n"])
@every("unit", ["\n", "`", "``` ", "```\n", "a ``` b\n"])
def test_a_long_text_that_opens_no_call_is_told_to_its_end(
    parser: ToolParser, begun: str, unit: str, step: int
) -> None:
    text = f"{begun}{unit * (2_000 // len(unit))}x"
    pieces = read(text, parser, step=step)

    assert list_calls(pieces) == []
    assert get_words(pieces) == text


def test_pythons_words_count_between_texts_and_stay_in_them() -> None:
    text = '{"name": "write_file", "arguments": {"content": "x = None\\n", "raw": False, "limit": None}}'

    assert list_calls(read(text, "json")) == [
        ("write_file", {"content": "x = None\n", "raw": False, "limit": None})
    ]


@pytest.mark.parametrize("frame", ["```json\n{}\n```", "<tools>\n{}\n</tools>"])
@pytest.mark.parametrize("step", [0, 3])
def test_frames_in_a_row_that_are_all_of_an_answer_are_calls(frame: str, step: int) -> None:
    row = "\n\n".join(frame.replace("{}", each) for each in (CALL, CALL.replace("a.py", "b.py")))

    assert list_calls(read(row, "json", step=step)) == [READ, ("read_file", {"path": "b.py"})]
    assert list_calls(read(f"{row}\n```output\nfine\n```", "json", step=step))[1:]
    assert list_calls(read(f"{row}\n```json\n{{}}\n```", "json", step=step)) == []


def test_several_calls_come_in_their_order() -> None:
    assert list_calls(read(f"{TAGGED}\n{TAGGED.replace('a.py', 'b.py')}", step=3)) == [
        READ,
        ("read_file", {"path": "b.py"}),
    ]
    assert list_calls(read(f"<tool_call>[{CALL}, {CALL}]</tool_call>")) == [READ, READ]


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        (f"<tool_call>{CALL}", ""),
        (f"<tool_call>{CALL[:-1]}</tool_call>", ""),
        (f"<tool_call>{CALL}}}</tool_call>", ""),
        (
            "<tool_call>{'name': 'read_file', 'arguments': {'path': 'a.py'}}</tool_call>",
            "Python's form of it was read",
        ),
        (
            '<tool_call>{"name": "read_file", "arguments": {"path": "a.py",},}</tool_call>',
            "Python's form of it was read",
        ),
        ('<tool_call>{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}</tool_call>', ""),
    ],
    ids=["no end", "one bracket less", "one bracket more", "Python", "commas", "encoded twice"],
)
def test_what_has_one_reading_is_read(text: str, repair: str) -> None:
    pieces = read(text)

    assert list_calls(pieces) == [READ]
    assert [piece.repairs for piece in pieces if isinstance(piece, TextualCall)] == [
        (f"the text of the call: {repair}",) if repair else ()
    ]


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("hermes", '<tool_call>{"name": "read_file", "arguments": {"path": "a.'),
        ("hermes", '<tool_call>{"name": "read_file", "arguments": {"path": "a.py"</tool_call>'),
        ("hermes", "<tool_call>read the file</tool_call>"),
        ("hermes", CALL),
        ("qwen-coder", "<tool_call><function=read_file><parameter=path>a.py"),
        ("llama", f"{CALL} is what I would write"),
        ("llama", '{"name": "no_such_tool", "parameters": {}}'),
        ("llama", '[read_file("a.py")]'),
        (
            "deepseek",
            '<｜tool▁calls▁begin｜>function<｜tool▁sep｜>read_file\n{"path": "a.py"}<｜tool▁calls▁end｜>',
        ),
        ("gpt-oss", "<|channel|>commentary to=python <|constrain|>code<|message|>print()"),
        ("gpt-oss", f"<|channel|>final<|message|>{CALL}"),
        ("json", f"I would call {CALL}"),
    ],
)
def test_what_is_no_whole_call_of_the_family_stays_text(parser: ToolParser, text: str) -> None:
    assert list_calls(read(text, parser)) == list_calls(read(text, parser, step=1)) == []


@pytest.mark.parametrize("parser", ["hermes", "qwen-coder", "mistral", "glm", "gemma"])
def test_a_call_that_a_limit_cuts_off_has_no_arguments_that_could_run(parser: ToolParser) -> None:
    pieces = read(WRITTEN[parser][: len(WRITTEN[parser]) * 2 // 3], parser, step=5, is_cut=True)

    (call,) = [piece for piece in pieces if isinstance(piece, TextualCall)]
    assert (call.name, call.arguments) == ("write_file", "{")


def test_an_argument_without_its_closing_tag_ends_where_the_next_one_begins() -> None:
    text = "<function=read_file>\n<parameter=path>\na.py\n<parameter=limit>\n3\n</parameter>\n</function>"

    assert list_calls(read(text, "qwen-coder")) == [("read_file", {"path": "a.py", "limit": 3})]


def test_values_have_the_types_of_the_schema() -> None:
    text = "<function=read_file><parameter=path>12</parameter><parameter=limit>12</parameter></function>"

    assert list_calls(read(text, "qwen-coder")) == [("read_file", {"path": "12", "limit": 12})]


def test_thoughts_are_told_apart_from_words() -> None:
    pieces = read(f"<think>I read it.</think>Look:\n{TAGGED}", step=4)

    assert "".join(piece.text for piece in pieces if isinstance(piece, ThoughtPiece)) == "I read it."
    assert get_words(pieces) == "Look:\n"


@given(st.text(alphabet='<>|/`"{}[]()=:\n tool_cal functio', max_size=60), st.sampled_from(TOOL_PARSERS))
@examples(100)
def test_no_text_is_lost_and_none_fails(text: str, parser: ToolParser) -> None:
    pieces = read(f"a {text}", parser, step=1)

    assert list_calls(pieces) or get_words(pieces) == f"a {text}"


@pytest.mark.parametrize(
    "frame",
    ["<tool_response>\n{}\n</tool_response>", "<!-- {} -->", "<example>\n{}\n</example>", "<pre>{}</pre>"],
)
def test_results_examples_and_comments_are_shown_and_stay_in_the_text(frame: str) -> None:
    shown = frame.replace("{}", TAGGED)
    for step in (0, 1):
        pieces = read(f"{shown}\nNow I read it.\n{TAGGED}", step=step)
        assert list_calls(pieces) == [READ]
        assert get_words(pieces) == f"{shown}\nNow I read it.\n"


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("llama", f"{CALL}<|eom_id|>"),
        ("llama", '<|python_tag|>read_file.call(path="a.py")'),
        ("lfm2", '<|tool_call_start|>read_file(path="a.py")<|tool_call_end|>'),
        ("functionary", 'read_file\n{"path": "a.py"}'),
        ("hermes", f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>"),
        ("nemotron", f"<tool_calls>[{CALL}]</tool_calls>"),
        ("gemma", "<start_function_call>call:read_file{path:<escape>a.py<escape>}<end_function_call>"),
        ("mistral", f"[TOOL_CALLS] [{CALL}]"),
        ("mistral", '[TOOL_CALLS]read_file[CALL_ID]1[ARGS]{"path": "a.py"}'),
        ("granite", f"<function_call> {CALL}"),
        ("command", 'Action: ```json\n[{"tool_name": "read_file", "parameters": {"path": "a.py"}}]\n```'),
        ("json", f"<tools>\n{CALL}\n</tools>"),
        ("json", f"{CALL}\n<|im_end|>"),
        ("json", f"```json\n{CALL}\n```</s>"),
        ("json", f"```JSON\n{CALL}\n```"),
        ("json", f"```tool_call\n{CALL}\n```"),
        ("json", f"```xml\n{TAGGED}\n```"),
        ("json", '{"function_call": {"name": "read_file", "arguments": {"path": "a.py"}}}'),
        ("json", '{"thought": "It helps.", "action": "read_file", "action_input": {"path": "a.py"}}'),
        ("hermes", '<tool_call>{{"name": "read_file", "arguments": {"path": "a.py"}}}</tool_call>'),
        ("hermes", '<tool_call>{{"name": "read_file", "arguments": {{"path": "a.py"}}}}</tool_call>'),
        ("qwen-coder", '<tool_call>\n<function=read_file>\n{"path": "a.py"}\n</function>\n</tool_call>'),
        ("qwen-coder", '<function name="read_file"><parameter name="path">a.py</parameter></function>'),
        ("qwen-coder", '<function="read_file"><parameter="path">a.py</parameter></function>'),
        ("qwen-coder", "<function= read_file ><parameter= path >a.py</parameter></function>"),
        ("llama", f"<|python_start|>{CALL}<|python_end|><|eom|>"),
        ("llama", f"<|start_header_id|>assistant<|end_header_id|>\n\n{CALL}<|eot_id|>"),
        ("llama", f"{CALL};"),
        ("llama", f"{CALL}<|eot|>"),
        ("glm", TAGGED),
        ("gpt-oss", 'analysisIt is there.assistantcommentary to=functions.read_file json{"path": "a.py"}'),
        ("minimax", "<invoke name='read_file'>\n<parameter name='path'>a.py</parameter>\n</invoke>"),
        (
            "minimax",
            ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.py'
            "]<]minimax[>[</path>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        ),
        (
            "deepseek",
            '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="read_file">\n{"path": "a.py"}\n'
            "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
        ),
        ("hermes", f"<longcat_tool_call>{CALL}</longcat_tool_call>"),
        (
            "glm",
            "<longcat_tool_call>read_file\n<longcat_arg_key>path</longcat_arg_key>\n"
            "<longcat_arg_value>a.py</longcat_arg_value>\n</longcat_tool_call>",
        ),
        (
            "glm",
            "<tool_calls:1a2b>\n<tool_call:1a2b>read_file<arg_key:1a2b>path</arg_key:1a2b>"
            "<arg_value:1a2b>a.py</arg_value:1a2b></tool_call:1a2b>\n</tool_calls:1a2b>",
        ),
        ("functionary", 'all\nI look.>>>read_file\n{"path": "a.py"}'),
    ],
)
def test_further_forms_of_a_family_are_read(parser: ToolParser, text: str) -> None:
    assert list_calls(read(text, parser)) == list_calls(read(text, parser, step=1)) == [READ]


@pytest.mark.parametrize("step", [0, 1, 9], ids=["whole", "by character", "in pieces"])
@pytest.mark.parametrize(
    ("parser", "call"),
    [
        ("command", 'Action: ```json\n[{"tool_name": "read_file", "parameters": {"path": "a.py"}}]\n```'),
        ("functionary", '>>>read_file\n{"path": "a.py"}'),
    ],
)
def test_a_call_whose_mark_is_plain_text_begins_its_line(parser: ToolParser, call: str, step: int) -> None:
    for before in ("I read it.\n", "I read it.\n\n  ", "<think>So.</think>\n"):
        assert list_calls(read(f"{before}{call}", parser, step=step)) == [READ]
    for before in ("Affected ", "Affected", "The row of a table.\nAffected ", "- ", "It is long. " * 40):
        pieces = read(f"{before}{call}", parser, step=step)
        assert list_calls(pieces) == []
        assert get_words(pieces) == f"{before}{call}"


@pytest.mark.parametrize(
    "before",
    [
        *("+", "-", "   12\t", "12: ", "7 | ", "  12→", "notes.md:12:", "notes.md:12:  ", "notes.md:13-"),
        *("2026-01-01T00:00:00Z ", "[2026-01-01 10:00:01] INFO ", "10:30:45 ", "<![CDATA["),
    ],
)
def test_a_line_of_a_file_a_difference_or_a_log_holds_no_call(before: str) -> None:
    for step in (0, 1):
        for start in ("", "It holds:\n"):
            pieces = read(f"{start}{before}<tool_call>{CALL}</tool_call>\n\nI leave it.", "hermes", step=step)
            assert list_calls(pieces) == []
    for said in ("I read it. ", "1. ", "- ", "12 files. ", "Step 2: ", "At 10:30: ", "In a.py: "):
        assert list_calls(read(f"{said}<tool_call>{CALL}</tool_call>", "hermes")) == [READ]


def test_tags_in_tags_hold_lists_and_objects() -> None:
    def write(tag: str, *inner: str) -> str:
        return f"]<]minimax[>[<{tag}>{''.join(inner)}]<]minimax[>[</{tag}>"

    edits = write(
        "edits", *(write("item", write("old", text), write("new", "")) for text in ("x", "</edits> y"))
    )
    others = write("limit", "3") + write("raw", "false")
    text = f']<]minimax[>[<invoke name="write_file">{edits}{others}]<]minimax[>[</invoke>'

    for step in (0, 1, 9):
        assert list_calls(read(text, "minimax", step=step)) == [
            (
                "write_file",
                {
                    "edits": [{"old": "x", "new": ""}, {"old": "</edits> y", "new": ""}],
                    "limit": 3,
                    "raw": False,
                },
            )
        ]
    for broken in (
        text.replace("</limit>", "</raw>"),
        text.replace("<limit>3", "<limit>3]<]minimax[>[</limit> 4"),
    ):
        assert list_calls(read(broken, "minimax")) == []


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("qwen-coder", "<function=read_file>\n{0}{1}</function>"),
        ("minimax", '<invoke name="read_file">\n{0}{1}</invoke>'),
        ("glm", "<tool_call>read_file\n{0}{1}</tool_call>"),
        ("gemma", "<|tool_call>call:read_file{{{0},{1}}}<tool_call|>"),
        ("llama", "[read_file({0}, {1})]"),
        ("hermes", '<tool_call>{{"name": "read_file", {0}, {1}}}</tool_call>'),
    ],
)
def test_a_call_that_gives_an_argument_two_values_is_not_read(parser: ToolParser, text: str) -> None:
    forms = {
        "qwen-coder": ("<parameter=path>\na.py\n</parameter>\n", "<parameter=path>\nb.py\n</parameter>\n"),
        "minimax": ('<parameter name="path">a.py</parameter>\n', '<parameter name="path">b.py</parameter>\n'),
        "glm": (
            "<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n",
            "<arg_key>path</arg_key>\n<arg_value>b.py</arg_value>\n",
        ),
        "gemma": ('path:<|"|>a.py<|"|>', 'path:<|"|>b.py<|"|>'),
        "llama": ('path="a.py"', 'path="b.py"'),
        "hermes": ('"arguments": {"path": "a.py"}', '"parameters": {"path": "b.py"}'),
    }
    one, other = forms[parser]
    for step in (0, 1):
        assert list_calls(read(text.format(one, other), parser, step=step)) == []
    if parser != "llama":
        assert list_calls(read(text.format(one, one), parser)) == [READ]


def test_a_call_that_names_two_tools_is_not_read() -> None:
    named = {**json.loads(CALL), "tool": next(name for name in TOOLS if name != "read_file")}

    assert list_calls(read(f"<tool_call>{json.dumps(named)}</tool_call>", "hermes")) == []


@pytest.mark.parametrize("parser", ["json", "llama", "hermes"])
@pytest.mark.parametrize("key", ["parameters", "arguments", "input"])
def test_the_definition_of_a_tool_is_no_call_of_it(parser: ToolParser, key: str) -> None:
    definition = json.dumps({"name": "read_file", "description": "Reads a file.", key: SCHEMA})
    text = f"<tool_call>{definition}</tool_call>" if parser == "hermes" else definition

    assert list_calls(read(text, parser)) == []
    assert find_leaked_call(definition, TOOLS) is None


@pytest.mark.parametrize("tag", ["think", "tool_response", "tool_output", "function_results", "example"])
def test_a_tag_that_does_not_speak_of_a_call_frames_none(tag: str) -> None:
    assert list_calls(read(f"<{tag}>\n{CALL}\n</{tag}>", "json")) == []


@pytest.mark.parametrize(
    "tag",
    [
        *("example_call", "tool_call_example", "tool_definition", "expected_tool_call", "denied_call"),
        *("not_a_function_call", "do_not_call", "callout", "uncalled", "tool_calls_made_before", "tooling"),
    ],
)
def test_a_tag_that_says_more_than_that_it_is_a_call_frames_none(tag: str) -> None:
    for text in (
        f"<{tag}>\n{CALL}\n</{tag}>",
        f"<{tag}>\n{CALL}",
        f"<{tag}>\n{CALL}\n</tool_call>",
        f"<tools>\n{CALL}\n</{tag}>",
        f"{CALL}\n</{tag}>",
    ):
        for step in (0, 1):
            assert list_calls(read(text, "json", step=step)) == []
    assert find_leaked_call(f"<{tag}>\n{CALL}\n</{tag}>", TOOLS) is None


@pytest.mark.parametrize(
    "tag",
    [
        "tool_call",
        "tool-calls",
        "ToolCall",
        "toolcall",
        "function_call",
        "tool_use",
        "tools",
        "function",
        "call",
    ],
)
def test_a_tag_that_only_says_it_is_a_call_frames_one_and_is_closed_by_its_name(tag: str) -> None:
    assert list_calls(read(f"<{tag}>\n{CALL}\n</{tag}>", "json")) == [READ]
    assert list_calls(read(f"<{tag}>\n{CALL}", "json")) == [READ]
    if tag != "tool_call":
        assert list_calls(read(f"<{tag}>\n{CALL}\n</tool_call>", "json")) == []


def test_a_text_that_holds_a_call_itself_is_one_argument() -> None:
    inner = "<tool_call>\n<function=read_file>\n<parameter=path>\nx\n</parameter>\n</function>\n</tool_call>"
    text = f"<function=write_file>\n<parameter=content>\n{inner}\n</parameter>\n</function>"

    assert list_calls(read(text, "qwen-coder")) == [("write_file", {"content": inner})]


@pytest.mark.parametrize("step", [0, 50, 500])
def test_a_text_that_holds_many_calls_is_one_argument_however_it_arrives(step: int) -> None:
    inner = f"<function=a><function=b>{'</function><function=b>' * 300}</function></function>"
    text = f"<function=write_file><parameter=content>{inner}</parameter></function>"

    assert list_calls(read(text, "qwen-coder", step=step)) == [("write_file", {"content": inner})]


@pytest.mark.parametrize("parser", ["qwen-coder", "glm", "hermes"])
def test_a_closing_mark_that_is_written_twice_belongs_to_its_call(parser: ToolParser) -> None:
    for step in (0, 1):
        assert list_calls(read(f"{WRITTEN[parser]}\n</tool_call>", parser, step=step)) == [("write_file", FULL)]


@every("parser", [each for each in TOOL_PARSERS if each not in ("command", "functionary")])
@pytest.mark.parametrize(
    "frame",
    [
        "Do not write {} here.",
        "The parser expects {}, as the page says.",
        "It never prints {}.",
        "So « {} » is what it says.",
        "It is ``{}`` in code.",
        "“{}”",
        "\\{}",
        "No escribas {} en la respuesta.",
        "I sent {} and got nothing.",
        "I could send {} if you like.",
        "<reasoning>\n{}\n</reasoning>\nIt is done.",
        "\\begin{verbatim}\n{}\n\\end{verbatim}\nIn the paper.",
        "[source,xml]\n----\n{}\n----\nis the listing.",
        "====\n{}\n====",
        'prompt = """\n{}\n"""\nThat is in line 3.',
        ".. code-block:: xml\n\n   {}\n",
        "Note::\n\n  {}",
        "[THINK]Perhaps {}[/THINK]It is done.",
        "Perhaps {}[/THINK]It is done.",
        "{}\n\nShall I run this?",
        "{}\n\nWant me to go ahead?",
        "{}\n**Is that okay?**",
        "{}\n\nPlease confirm.",
        "{}\n\nLet me know if I should run it.",
        "{}\n\nSoll ich das ausführen?",
        "{} is the syntax.",
        "What does {} mean?",
        "The user's message held {}, which I ignore.",
        "(see {} in the docs)",
        "- reads {}",
        "- reads\n{}\n- writes the rest",
        "* Step 1 uses {}\n* Step 2 waits",
        "You wrote: {}",
        "Here's what the log shows at 10:32:\n{}",
        "The README documents it:\n\n{}",
        "Option A:\n{}\n\nOption B: by hand.",
        "Así se ve una llamada:\n\n{}",
        "The model would then write\n{}\nand wait.",
        "Assistant: {}\nTool: it is empty",
        "// {}",
        "<output>\n{}\n</output>\nThat is what it printed.",
        '<file path="a.txt">\n{}\n</file>\nThat is in it.',
    ],
)
def test_a_call_that_a_sentence_or_a_quotation_holds_is_mentioned_not_made(
    parser: ToolParser, frame: str
) -> None:
    call = (
        WRITTEN[parser].replace("\n", " ")
        if parser != "gpt-oss"
        else ('<|channel|>commentary to=functions.read_file <|message|>{"path": "a.py"}<|call|>')
    )
    for step in (0, 1, 9):
        assert list_calls(read(frame.replace("{}", call), parser, step=step)) == []


@pytest.mark.parametrize(
    "frame",
    [
        "I write it. {} Then I go on.",
        "<file> is no tag that I know:\n{}",
        "So I call {} now",
        "First {}",
        "{} and I wait.",
    ],
)
def test_words_around_a_call_do_not_unmake_it(frame: str) -> None:
    for step in (0, 1, 9):
        assert list_calls(read(frame.replace("{}", TAGGED), step=step)) == [READ]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "read_file", "arguments": {"path": "a.py"}, "result": "ok"}',
        '[{"time": 3, "name": "read_file", "arguments": {"path": "a.py"}}]',
        '{"name": "read_file", "arguments": "the path"}',
    ],
)
def test_what_tells_of_a_call_in_json_makes_none(text: str) -> None:
    assert list_calls(read(text, "json")) == list_calls(read(text, "llama")) == []


def test_a_tag_without_arguments_names_a_tool_that_is_offered() -> None:
    assert list_calls(read("<tool_call>list_jobs</tool_call>", "glm")) == [("list_jobs", {})]
    assert list_calls(read("<tool_call>none</tool_call>", "glm")) == []


def test_doubled_braces_within_texts_stay() -> None:
    text = '<tool_call>{{"name": "write_file", "arguments": {{"content": "{{ x }} {y}"}}}}</tool_call>'

    assert list_calls(read(text)) == [("write_file", {"content": "{{ x }} {y}"})]


@every("step", [0, 1, 7])
@pytest.mark.parametrize(
    ("parser", "result"),
    [
        (parser, mark)
        for parser in TOOL_PARSERS
        for mark in (*get_family(parser).results, RESULTS[0], RESULTS[-1])
    ],
)
def test_nothing_counts_behind_the_beginning_of_a_result_that_follows_a_call(
    parser: ToolParser, result: str, step: int
) -> None:
    text = f"{WRITTEN[parser]}\n{result}\nAll is well.\n{WRITTEN[parser]}\nIt is done."
    pieces = read(text, parser, step=step)

    assert list_calls(pieces) == [("write_file", FULL)]
    assert pieces[-1] == ResultBegun()
    assert get_words(pieces).strip() == ""


@pytest.mark.parametrize(
    "text",
    [
        "<details>\n<summary>How a call looks</summary>\n\n{0}\n</details>",
        "<details open>\n{0}\n</details>\nThat is how.",
        "<ul>\n<li>{0}</li>\n<li>JSON</li></ul>",
        "<figure>{0}<figcaption>{0}</figcaption></figure>",
        "The forms:\n- {0}\n- JSON",
        "The forms are **these:**\n\n- JSON\n* Hermes: {0}\n",
        "There are two ways:\n1. {0}\n2) {0}",
        "- {0}\n- the other one",
        "1. Hermes: {0}\n2. Llama: JSON",
        "Es gibt drei:\n(a) {0}",
    ],
)
def test_what_a_list_names_or_stands_in_a_shown_part_of_a_page_is_no_call(text: str) -> None:
    for step in (0, 1, 9):
        assert list_calls(read(text.format(TAGGED.replace("\n", "")), step=step)) == []
    assert find_leaked_call(text.format(TAGGED.replace("\n", "")), TOOLS) is None


@pytest.mark.parametrize(
    "text",
    ["- {0}", "Let me look:\n\n- {0}", "I will do this:\n1. {0}", "Plan:\n1. Read it.\n2. Edit it.\n\n{0}"],
)
def test_a_call_in_a_list_of_what_the_model_does_counts(text: str) -> None:
    for step in (0, 1, 9):
        assert list_calls(read(text.format(TAGGED), step=step)) == [READ]


def test_the_answer_is_over_before_the_made_up_result_is_whole() -> None:
    reader = TextualCallReader(get_family("hermes"), TOOLS, begins_in_thought=False)
    told = [*reader.feed(f"I look. {TAGGED}\n<tool_response>\n" + "x" * 80)]

    assert told[-1] == ResultBegun()
    assert list_calls(told) == [READ]
    assert list(reader.feed("y" * 2_000)) == list(reader.finish(is_cut=True)) == []


@pytest.mark.parametrize("begins", [True, None])
@pytest.mark.parametrize("step", [0, 1, 7], ids=["whole", "by character", "in pieces"])
@pytest.mark.parametrize("parser", ["hermes", "json", "qwen-coder", "kimi", "mistral", "glm"])
def test_a_call_and_its_result_in_thinking_that_began_in_the_prompt_are_thinking(
    parser: ToolParser, step: int, begins: bool | None
) -> None:
    for before in ("", "I could write\n"):
        thought = f"{before}{WRITTEN[parser]}\n<tool_response>\nx = 1\n</tool_response>\nand then say so."
        pieces = read_all(f"{thought}</think>\nIt is 1.\n", parser, step=step, begins_in_thought=begins)
        ends = pieces.index(ThinkingEnded())

        assert list_calls(pieces[ends:]) == []
        assert get_words(pieces[ends:]).strip() == "It is 1."
        assert "and then say so." in get_words(pieces[:ends])


def test_behind_such_thinking_calls_count_and_a_made_up_result_ends_the_answer() -> None:
    thought = f"{TAGGED}\n<tool_response>\nx\n</tool_response>\n</think>"
    pieces = read(f"{thought}\n{TAGGED}\n<tool_response>\ny\n</tool_response>\n</think>")

    assert list_calls(pieces) == [READ]
    assert pieces[-1] == ResultBegun()


def test_of_an_answer_that_makes_up_far_too_much_where_it_may_think_no_call_is_left() -> None:
    reader = TextualCallReader(get_family("hermes"), TOOLS, begins_in_thought=True)
    told = [*reader.feed(f"{TAGGED}\n<tool_response>\n" + "x " * 20_000)]

    assert told[-2:] == [ThinkingEnded(), ResultBegun()]


def test_a_call_in_thinking_that_began_in_the_prompt_has_not_leaked() -> None:
    assert find_leaked_call(f"I could write {TAGGED}\nor not.</think>\nIt is 1.", TOOLS) is None


@pytest.mark.parametrize(
    "behind",
    [
        "Then `<tool_response>` will hold it.",
        "It comes behind <tool_response> in a line.",
        "```\n<tool_response>\n```\nis how it looks.",
        "> <tool_response>\n\nis what the page says.",
        "<think>\n<tool_response>\n</think>\nNow I wait.",
    ],
)
def test_a_mark_of_results_that_is_shown_or_spoken_of_ends_nothing(behind: str) -> None:
    for step in (0, 1):
        pieces = read(f"{TAGGED}\n{behind}\n{TAGGED}", step=step)
        assert list_calls(pieces) == [READ, READ]


@pytest.mark.parametrize("parser", ["hermes", "qwen-coder", "glm", "json"])
def test_a_mark_of_results_within_an_argument_is_text(parser: ToolParser) -> None:
    inside = ODD_JSON[1:-1] if parser in ("hermes", "json") else ODD
    marked = inside.replace(
        "<b>", "<b>\\n<tool_response>\\n" if parser in ("hermes", "json") else "<b>\n<tool_response>\n"
    )
    for step in (0, 1):
        pieces = read(WRITTEN[parser].replace(inside, marked), parser, step=step)
        ((_, arguments),) = list_calls(pieces)
        assert "\n<tool_response>\n" in str(arguments["content"])
        assert ResultBegun() not in pieces


FENCED = f"```json\n{CALL}\n```"


@pytest.mark.parametrize("step", [0, 1, 7], ids=["whole", "by character", "in pieces"])
@pytest.mark.parametrize(
    "answer",
    [
        # recorded: Qwen2.5-Coder 1.5B
        f"{FENCED}\nI listed the files in the directory and saw the output:\n```\n['calc.py']\n```\nI then "
        f"saw the response from the tool:\n{FENCED}\nI can see the list of files in the directory.",
        f"{FENCED}\n\nThe files in `/tmp` are listed.",
        f"<tools>\n{CALL}\n</tools>\nIch habe sie gelesen.",
        f"{FENCED}\n\nObservation: x = 1",
        f"{FENCED}\n\nThe output is:\n\nx = 1",
        f"{FENCED}\nI have deleted the folder.",
        f"{FENCED}\nAll tests passed.",
        f"{FENCED}\nIt contains three functions.",
        f"<tool_call>\n{CALL}\n</tool_call>\nTool output: x = 1",
    ],
)
def test_a_call_in_a_frame_counts_before_words_of_what_it_led_to(answer: str, step: int) -> None:
    pieces = read(answer, "json", step=step)

    assert list_calls(pieces) == [READ]
    assert get_words(pieces) == ""
    assert pieces[-1] == ResultBegun()


@pytest.mark.parametrize("step", [0, 1, 7], ids=["whole", "by character", "in pieces"])
@pytest.mark.parametrize(
    "answer",
    [
        f"{FENCED}\nThat would read it.",
        f"{FENCED}\n\nThis reads the file, and nothing more.",
        f"{FENCED}\n\nReplace the path by your own.",
        f"{FENCED}\n\nShall I run it?",
        f"{FENCED}\nDas würde sie lesen.",
        f"{FENCED}\nDo not run that! It deletes all files.",
        f"{FENCED}\nWarning: it deletes all files.",
        f"{FENCED}\nI have not run it.",
        f"{FENCED}\nOnce you say so, I run it.",
        f"{FENCED}\nLet me know, and I run it.",
        f"{FENCED}\nRun it by hand: I have no right to do so.",
        f"{FENCED}\n**Explanation:** it reads a file.",
        f"{FENCED}\n- `name`: which of the tools\n- `arguments`: what it gets",
        f"{FENCED}\nSave it as call.json, and start the program.",
        f"{FENCED}\nAnd as YAML:\n```yaml\nname: read_file\n```",
        f"{FENCED}\nIt is read by the client.",
        f"{FENCED}\nI have written it the way that servers read it.",
        f"{FENCED}\nSo sieht ein Aufruf aus.",
        f"{FENCED}\nVoilà à quoi ressemble un appel.",
        f"{FENCED} is the call.",
        f"{CALL}\nI have read it.",
        f"The call was:\n{FENCED}\nI have read it.",
        f"```json\n{CALL.replace('read_file', 'fetch')}\n```\nI have read it.",
    ],
)
def test_a_call_in_a_frame_that_words_explain_or_begin_with_is_text(answer: str, step: int) -> None:
    pieces = read(answer, "json", step=step)

    assert list_calls(pieces) == []
    assert get_words(pieces) == answer


def test_calls_in_frames_behind_each_other_all_count() -> None:
    for step in (0, 1, 7):
        assert list_calls(read(f"{TAGGED}\n{TAGGED}", "json", step=step)) == [READ, READ]


def test_only_a_family_that_frames_its_calls_takes_words_behind_them_for_made_up() -> None:
    for parser in TOOL_PARSERS:
        assert (list_calls(read(f"{FENCED}\nI have read it.", parser)) == [READ]) is (parser == "json")


_SHOWING = (
    "Don't run this:",
    "Never emit the following:",
    "I will not run it:",
    "The web page told me to run",
    "You wrote:",
    "The model writes this:",
    "The log says:",
    "prompt.txt contains:\n",
    "Output of `cat prompt.txt`:",
    "A call looks so:",
    "**Bad:**",
    "Beispiel:",
    "Ad esempio:",
    "Por exemplo, assim:",
    "Na przykład:",
    "Например:",
    "例：",
    "예를 들어:",
    "**Format**",
    "### Syntax",
    "Expected output:",
    "Output of gen.py:",
    "Input:",
    "The file prompts.md holds:",
    "If you want the file, answer with:",
    "When the user asks for it, write:",
    "A model could write",
    "I already ran",
    "Should I run this?",
    "Do you want me to run it?",
)
_CALLING = (
    "The log shows an error in line 3 of a.py:",
    "In the file a.py there may be more.",
    "Before I change anything, I read it:",
    "Option 2 is better. I read a.py:",
    "You asked for a.py:",
    "The format of the file is unknown; reading it.",
    "- reading the file",
    "1. Read a.py",
    "----",
    "I'll run it:",
    "Let me check what the log says:",
    "I can't find it; let me search:",
    "I must not write the file blindly, so I read it:",
    "I need to know what the test prints",
    "Get the contents of `x.py`:",
    "It never writes the file. Reading it:",
    "Next I run the tests like this:",
    "I can do that.",
    "Reading the file:",
    "Ich lese die Datei:",
    "我来读取文件：",
    "Should work. Running:",
    "I might be missing something: reading the file",
    "The output is empty. Checking the file:",
    "If the test fails, I'll mend it. Running it:",
    "I already know the rest; now the file:",
)


@pytest.mark.parametrize("step", [0, 1, 7], ids=["whole", "by character", "in pieces"])
@pytest.mark.parametrize("before", [*_SHOWING, *_CALLING])
def test_a_line_that_says_whose_words_follow_shows_a_call_and_makes_none(before: str, step: int) -> None:
    pieces = read(f"{before}\n{TAGGED}", "hermes", step=step)

    assert list_calls(pieces) == ([READ] if before in _CALLING else [])


@pytest.mark.parametrize("between", ["\n", "\n\n", ""])
def test_several_calls_whose_leave_is_asked_are_none_and_without_the_question_all_are_made(
    between: str,
) -> None:
    calls = between.join([TAGGED] * 3)
    for step in (0, 1, 9):
        assert list_calls(read(f"I could do this.\n{calls}\n\nShall I run these?", step=step)) == []
        assert list_calls(read(f"I look.\n{calls}\n\nThat is all.", step=step)) == [READ] * 3
        assert list_calls(read(f"I look.\n{calls}\n<tool_call>{{", step=step)) == [READ] * 3


@pytest.mark.parametrize("behind", ["\n\nConfirming what is in it.", "\n\nIs there more to see? I think so."])
def test_what_is_told_behind_a_call_asks_no_leave_for_it(behind: str) -> None:
    for step in (0, 1, 9):
        assert list_calls(read(f"I look.\n{TAGGED}{behind}", step=step)) == [READ]


@pytest.mark.parametrize(
    "arguments", [{"path": "<path>"}, {"path": "{{ path }}"}, {"path": "${FILE}", "content": "<text>"}]
)
def test_what_a_template_leaves_to_be_filled_in_is_no_argument(arguments: JsonObject) -> None:
    for name, calls in (("read_file", []), ("<tool-name>", [])):
        call = json.dumps({"name": name, "arguments": arguments})
        assert list_calls(read(f"<tool_call>{call}</tool_call>")) == calls
    some = {**arguments, "raw": True}
    call = json.dumps({"name": "read_file", "arguments": some})
    assert list_calls(read(f"<tool_call>{call}</tool_call>")) == [("read_file", some)]


_CODE = "```tool_code\n{}\n```"


@pytest.mark.parametrize(
    "code",
    [
        'read_file(path="a.py")',
        "print(read_file(path='a.py'))\n",
        "print(default_api.read_file(path='a.py'))",
        "[read_file(path='a.py')]",
    ],
)
@pytest.mark.parametrize("behind", ["", "\n", "<end_of_turn>", "\n```tool_output\nx = 1\n```"])
def test_a_block_of_tool_code_that_is_a_call_is_one(code: str, behind: str) -> None:
    for step in (0, 1, 9):
        text = f"I look.\n\n{_CODE.replace('{}', code)}{behind}"
        assert list_calls(read(text, "gemma", step=step)) == [READ]


@pytest.mark.parametrize(
    "text",
    [
        *(
            _CODE.replace("{}", code)
            for code in (
                "x = read_file(path='a.py')",
                "import os",
                "read_file('a.py')",
                "remove(path='a.py')",
                "print(read_file(path='a.py'), 1)",
                "print(print(read_file(path='a.py')))",
                "read_file(path=open('a.py').read())",
                "read_file(path='a.py')\nread_file(path='b.py')",
                'x\n<|tool_call>call:read_file{path:<|"|>a.py<|"|>}<tool_call|>',
            )
        ),
        f"{_CODE.replace('{}', 'read_file(path=1)')}\nis what Gemma would write.",
        f"For example:\n{_CODE.replace('{}', 'read_file(path=1)')}",
        "```tool_code_of_tests\nread_file(path='a.py')\n```",
        "````tool_code\nread_file(path='a.py')\n````",
        "So it is now```tool_code\nread_file(path='a.py')\n```",
    ],
)
def test_any_other_block_of_tool_code_is_shown_as_it_is(text: str) -> None:
    for step in (0, 1, 9):
        pieces = read(text, "gemma", step=step)
        assert list_calls(pieces) == []
        assert "".join(piece.text for piece in pieces if isinstance(piece, Words)) == text
