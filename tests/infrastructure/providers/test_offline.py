import json
import re
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.ports.models import ToolChoice
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    Delta,
    LlmResponse,
    StreamedToolCall,
    StreamEvent,
)
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.offline import OfflineApiClient
from quorum.infrastructure.models.shared.api_client import ApiRequest

LABEL = "offline: no model is in use; this is a plain interpreter of simple requests."


def a_schema(name: str, required: dict[str, str], **optional: str) -> JsonObject:
    properties: dict[str, JsonObject] = {key: {"type": kind} for key, kind in {**required, **optional}.items()}
    return {
        "name": name,
        "description": name,
        "input_schema": {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
    }


STEP = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "status": {"enum": ["pending", "in_progress", "done"]}},
    "required": ["text", "status"],
    "additionalProperties": False,
}
PLAN: JsonObject = {
    "name": "update_plan",
    "description": "update_plan",
    "input_schema": {
        "type": "object",
        "properties": {"items": {"type": "array", "items": STEP}},
        "required": ["items"],
        "additionalProperties": False,
    },
}
TOOLS: tuple[JsonObject, ...] = (
    a_schema("read_file", {"path": "string"}, offset="integer", limit="integer"),
    a_schema("list_directory", {"path": "string"}),
    a_schema("glob_search", {"pattern": "string"}, base_dir="string", max_results="integer"),
    a_schema("grep_search", {"pattern": "string", "path": "string"}, file_pattern="string"),
    a_schema("write_file", {"path": "string", "content": "string"}, create_dirs="boolean"),
    a_schema(
        "edit_file", {"path": "string", "old_text": "string", "new_text": "string"}, replace_all="boolean"
    ),
    a_schema("run_command", {"command": "string"}, working_dir="string", timeout_secs="integer"),
    PLAN,
)
SCHEMAS = {str(tool["name"]): tool["input_schema"] for tool in TOOLS}


async def answer(
    conversation: Conversation,
    *,
    client: OfflineApiClient | None = None,
    tools: tuple[JsonObject, ...] = TOOLS,
    tool_choice: ToolChoice = "auto",
    events: list[StreamEvent] | None = None,
) -> LlmResponse:
    request = ApiRequest(
        model="offline", system="", messages=conversation.messages, tools=tools, tool_choice=tool_choice
    )
    received: list[StreamEvent] = [] if events is None else events
    response = await (client or OfflineApiClient()).exchange(request, received.append)
    conversation.add_response(response)
    return response


async def answer_to(prompt: str, *, tool_choice: ToolChoice = "auto", tools: tuple[JsonObject, ...] = TOOLS):
    conversation = Conversation()
    conversation.add_user(prompt)
    return await answer(conversation, tool_choice=tool_choice, tools=tools)


async def calls_of(prompt: str) -> list[tuple[str, JsonObject]]:
    response = await answer_to(prompt)
    return [(call.tool_name, call.arguments) for call in response.tool_calls()]


async def summary_of(prompt: str, *outcomes: dict[str, object]) -> str:
    conversation = Conversation()
    conversation.add_user(prompt)
    await answer(conversation)
    conversation.add_results(results_for(conversation, outcomes))
    response = await answer(conversation)
    assert response.stop_reason == END_TURN
    return response.text_content()


def results_for(
    conversation: Conversation, outcomes: Sequence[dict[str, object]]
) -> tuple[ToolResultMessage, ...]:
    return tuple(
        ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, **outcome)  # type: ignore[arg-type]
        for call, outcome in zip(conversation.open_calls, outcomes, strict=True)
    )


def read(path: str) -> tuple[str, JsonObject]:
    return "read_file", {"path": path}


def run(command: str) -> tuple[str, JsonObject]:
    return "run_command", {"command": command}


def grep(pattern: str, path: str = ".") -> tuple[str, JsonObject]:
    return "grep_search", {"pattern": pattern, "path": path}


def ls(path: str) -> tuple[str, JsonObject]:
    return "list_directory", {"path": path}


def edit(path: str, old: str, new: str, **more: bool) -> tuple[str, JsonObject]:
    return "edit_file", {"path": path, "old_text": old, "new_text": new, **more}


def write(path: str, content: str, **more: bool) -> tuple[str, JsonObject]:
    return "write_file", {"path": path, "content": content, **more}


def steps(*texts: str) -> tuple[str, JsonObject]:
    return "update_plan", {"items": [{"text": text, "status": "pending"} for text in texts]}


UNDERSTOOD: dict[str, list[tuple[str, JsonObject]]] = {
    "read a.py and b.py": [read("a.py"), read("b.py")],
    'read @a.py, @"my notes.md" and @src/b.py.': [read("a.py"), read("my notes.md"), read("src/b.py")],
    "Please read the file a.py.": [read("a.py")],
    "show me the contents of src/a.py": [read("src/a.py")],
    "read 'my file.txt' and “b c”": [read("my file.txt"), read("b c")],
    "read README and it's.py": [read("README"), read("it's.py")],
    "list": [ls(".")],
    "list all files in src": [ls("src")],
    "list src and tests": [ls("src"), ls("tests")],
    "find TODO in src": [grep("TODO", "src")],
    "search for def main in src, tests": [grep("def main", "src"), grep("def main", "tests")],
    'find "a in b" in src': [grep("a in b", "src")],
    "find foo(x) in src": [grep(r"foo\(x\)", "src")],
    "find /^x+/ in src": [grep("^x+", "src")],
    "grep ^def src/": [grep("^def", "src/")],
    "find TODO": [grep("TODO")],
    "find files *.py in src": [("glob_search", {"pattern": "**/*.py", "base_dir": "src"})],
    "find all files named conftest.py": [("glob_search", {"pattern": "**/conftest.py"})],
    "find test_*.py": [("glob_search", {"pattern": "**/test_*.py"})],
    "glob docs/*.md": [("glob_search", {"pattern": "docs/*.md"})],
    "replace X with Y in f": [edit("f", "X", "Y")],
    "replace all X with Y in f.py": [edit("f.py", "X", "Y", replace_all=True)],
    "replace all with none in f": [edit("f", "all", "none")],
    'replace "a with b" with \'c "d"\' in f.py': [edit("f.py", "a with b", 'c "d"')],
    'replace "debug" with "" in f.py': [edit("f.py", "debug", "")],
    "replace x with for a in b in f.py": [edit("f.py", "x", "for a in b")],
    "change foo to bar in a.py and b.py": [edit("a.py", "foo", "bar"), edit("b.py", "foo", "bar")],
    "write f: hello\nworld and run x": [write("f", "hello\nworld and run x\n")],
    'write f: "" and read f.py': [write("f", ""), read("f.py")],
    "write notes.txt with hello": [write("notes.txt", "hello\n")],
    'write f with "x" and run y': [write("f", "x"), run("y")],
    'write f with "x" and "y"': [write("f", '"x" and "y"\n')],
    "run \"a b\" c, then run 'd e' and read f.py": [run('"a b" c'), run("d e"), read("f.py")],
    'write "hi there" to docs/x.md, read docs/x.md': [
        write("docs/x.md", "hi there", create_dirs=True),
        read("docs/x.md"),
    ],
    "write a.py:\n```python\nif x:\n    y()\n```\nand run python a.py": [
        write("a.py", "if x:\n    y()\n"),
        run("python a.py"),
    ],
    "run pytest -q": [run("pytest -q")],
    "run pytest -q, please.": [run("pytest -q")],
    "run `make test` in sub": [("run_command", {"command": "make test", "working_dir": "sub"})],
    "run a && b": [run("a && b")],
    "run cd src; ls; cat x": [run("cd src; ls; cat x")],
    "run ls ..": [run("ls ..")],
    "run echo 'a and read b' and read c.py": [run("echo 'a and read b'"), read("c.py")],
    "run:\n```sh\nfor i in 1; do\n  echo $i\ndone\n```": [run("for i in 1; do\n  echo $i\ndone")],
    "plan: read; fix ; test": [steps("read", "fix", "test")],
    "plan:\n1. read\n- fix\n\nread a.py": [steps("read", "fix"), read("a.py")],
    "read a.py and b.py and search TODO in src; run pytest": [
        read("a.py"),
        read("b.py"),
        grep("TODO", "src"),
        run("pytest"),
    ],
    "Can you read a.py? Then run pytest.": [read("a.py"), run("pytest")],
    "- read a.py\n- list src": [read("a.py"), ls("src")],
    "a.py と b.py を読んで、src で TODO を検索して": [read("a.py"), read("b.py"), grep("TODO", "src")],
    "f.py の「X y」を Z に置換して、`pytest -q` を実行して": [edit("f.py", "X y", "Z"), run("pytest -q")],
}


@pytest.mark.parametrize("prompt", UNDERSTOOD)
async def test_a_plain_request_becomes_one_batch_of_calls_in_order(prompt: str):
    assert await calls_of(prompt) == UNDERSTOOD[prompt]


@pytest.mark.parametrize(
    ("prompt", "part"),
    [
        ("fix the bug", "fix the bug"),
        ("read a.py carefully", "carefully"),
        ("read a.py and summarise it", "summarise it"),
        ("run pytest and fix what fails", "fix what fails"),
        ("read everything", "read everything"),
        ("read and list src", "read"),
        ("run the tests", "run the tests"),
        ("write f", "write f"),
        ("create a function with two arguments", "create a function with two arguments"),
        ("frobnicate a.py を読んで", "frobnicate a.py を読んで"),
        ("run cd x and make", "make"),
        ("replace a with b", "replace a with b"),
        ("replace a in b.py", "replace a in b.py"),
        ("replace a with a in b.py", "replace a with a in b.py"),
        ("find in src", "find in src"),
        ("plan the work", "plan the work"),
        ("list src, frobnicate `x`", "frobnicate `x`"),
        ("こんにちは", "こんにちは"),
    ],
)
async def test_a_part_not_understood_is_named_and_nothing_runs(prompt: str, part: str):
    response = await answer_to(prompt)

    assert response.tool_calls() == ()
    assert response.stop_reason == END_TURN
    assert "I did not understand" in response.text_content()
    assert part in response.text_content()
    assert "start a local server" in response.text_content()
    assert "read a.py and b.py" in response.text_content()


async def test_more_calls_than_a_batch_may_hold_are_refused_whole():
    response = await answer_to("read " + " ".join(f"{n}.txt" for n in range(60)))

    assert response.tool_calls() == ()
    assert "more than 50 calls" in response.text_content()


@pytest.mark.parametrize("prompt", ["", "  \n", ", and then;", "。、", "..."])
async def test_a_prompt_without_a_request_is_answered_with_examples(prompt: str):
    response = await answer_to(prompt)

    assert response.tool_calls() == ()
    assert "read a.py and b.py" in response.text_content()


async def test_help_lists_what_is_understood():
    assert "find TODO in src" in (await answer_to("help")).text_content()


async def test_every_example_it_gives_is_one_it_understands():
    text = (await answer_to("help")).text_content()
    examples = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]

    assert len(examples) >= 8
    for example in examples:
        assert await calls_of(example), example


def documented_requests() -> list[str]:
    page = (Path(__file__).parents[3] / "docs" / "offline.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    spans = re.findall(r"`` (.+?) ``|`([^`]+)`", " ".join(cells))
    return [double or single for double, single in spans]


async def test_every_documented_request_is_understood():
    requests = [request for request in documented_requests() if request != "help"]

    assert len(requests) >= 20
    for request in requests:
        assert await calls_of(request), request


async def test_control_characters_of_a_prompt_are_not_echoed():
    text = (await answer_to("\x1b]52;c;AAAA\x07 \u202e fix")).text_content()

    assert "\x1b" not in text
    assert "\u202e" not in text


async def test_the_label_opens_the_first_answer_of_a_conversation_and_no_other():
    conversation = Conversation()
    client = OfflineApiClient()

    conversation.add_user("help")
    first = await answer(conversation, client=client)
    conversation.add_user("help")
    second = await answer(conversation, client=client)

    assert first.text_content().startswith(LABEL)
    assert LABEL not in second.text_content()


async def test_text_and_calls_are_streamed_in_pieces_that_add_up():
    conversation = Conversation()
    conversation.add_user(f"write big.txt: {'é' * 20_000}")
    events: list[StreamEvent] = []

    response = await answer(conversation, events=events)

    texts = [event.text for event in events if isinstance(event, Delta)]
    call_pieces = [event for event in events if isinstance(event, StreamedToolCall)]
    assert len(texts) > 5
    assert "".join(texts) == response.text_content()
    assert (call_pieces[0].id, call_pieces[0].name) == (response.tool_calls()[0].native_id, "write_file")
    assert all(piece.id is None and piece.name is None for piece in call_pieces[1:])
    assert len(call_pieces) > 3
    arguments = "".join(piece.arguments_delta for piece in call_pieces)
    assert json.loads(arguments) == response.tool_calls()[0].arguments


async def test_the_answer_names_its_model_and_counts_no_tokens():
    response = await answer_to("read a.py")

    assert response.model == "offline/offline"
    assert response.usage.context == 0


async def test_ids_stay_unique_over_turns_and_after_a_restart():
    conversation = Conversation()
    ids: list[str] = []
    client = OfflineApiClient()

    for turn in range(4):
        if turn == 2:
            client = OfflineApiClient()
        conversation.add_user("read a.py and b.py")
        response = await answer(conversation, client=client)
        ids += [call.native_id for call in response.tool_calls()]
        conversation.add_results(results_for(conversation, [{"output": "x"}, {"output": "y"}]))
        await answer(conversation, client=client)

    assert len(ids) == 8
    assert len(set(ids)) == 8


async def test_a_tool_that_is_not_offered_is_never_called():
    without_commands = tuple(tool for tool in TOOLS if tool["name"] != "run_command")

    response = await answer_to("read a.py and run pytest", tools=without_commands)

    assert response.tool_calls() == ()
    assert "`run_command`" in response.text_content()


@pytest.mark.parametrize(("tools", "choice"), [(TOOLS, "none"), ((), "auto")])
async def test_without_tools_it_says_what_is_left_to_do(tools: tuple[JsonObject, ...], choice: ToolChoice):
    response = await answer_to("read a.py", tools=tools, tool_choice=choice)

    assert response.stop_reason == END_TURN
    assert "Still to do: `read_file a.py`" in response.text_content()


@pytest.mark.parametrize("prompt", ["list .", "list the files here", "find TODO", "list .."])
async def test_no_full_stop_follows_a_path_in_what_is_announced(prompt: str):
    response = await answer_to(prompt)
    text, (call,) = response.text_content(), response.tool_calls()

    assert text.endswith("`")
    assert call.arguments["path"] in (".", "..")
    assert ("." * 2 in text) == (prompt == "list ..")
    assert ("./`" in text) == (call.arguments["path"] == ".")


async def test_a_named_tool_is_the_only_one_called():
    allowed = await answer_to("read a.py", tool_choice=("tool", "read_file"))
    refused = await answer_to("read a.py", tool_choice=("tool", "run_command"))

    assert [call.tool_name for call in allowed.tool_calls()] == ["read_file"]
    assert refused.tool_calls() == ()


async def test_results_are_shown_call_by_call():
    text = await summary_of(
        "read a.py and find TODO in src", {"output": "1\tx = 1\n2\ty = 2"}, {"output": "no matches"}
    )

    assert "`read_file a.py`:\n```text\n1\tx = 1\n2\ty = 2\n```" in text
    assert "`grep_search TODO src`: `no matches`" in text


async def test_a_long_result_is_cut_and_says_so():
    text = await summary_of("read a.py", {"output": "\n".join(f"line {n}" for n in range(500))})

    assert "(first 20 of 500 lines)" in text
    assert "line 19" in text
    assert "line 20" not in text


async def test_an_error_is_reported_as_a_failure():
    text = await summary_of("read a.py", {"output": "a.py does not exist", "is_error": True})

    assert text == "`read_file a.py` failed: `a.py does not exist`"


async def test_a_rejection_is_reported_with_the_reason_of_the_person():
    text = await summary_of("run `rm -rf x`", {"output": "rejected by the user: keep x", "is_rejected": True})

    assert text == "`run_command rm -rf x` did not run: `rejected by the user: keep x`"


async def test_a_command_is_reported_with_its_exit_code_and_the_end_of_its_output():
    output = "\n".join([*(f"test {n} passed" for n in range(50)), "1 failed", "exit code 2"])

    text = await summary_of("run pytest", {"output": output})

    assert "`run_command pytest` ended: exit code 2 (last 20 of 51 lines):" in text
    assert "1 failed\n```" in text
    assert "test 5 passed" not in text


async def test_remarks_after_an_exit_code_are_reported_too():
    output = "done\nexit code 0\n2 background processes were ended"

    text = await summary_of("run ./serve", {"output": output})

    assert "ended: exit code 0, 2 background processes were ended: `done`" in text


async def test_an_empty_result_is_reported_in_a_sentence():
    assert await summary_of("run true", {"output": "exit code 0"}) == "`run_command true` ended: exit code 0."


async def test_backticks_in_a_result_cannot_leave_their_box():
    text = await summary_of("read a.md", {"output": "```\nend of box?\n````"})

    assert "`````text\n```\nend of box?\n````\n`````" in text


async def test_results_are_summed_up_even_where_no_tool_may_be_called():
    conversation = Conversation()
    conversation.add_user("read a.py")
    await answer(conversation)
    limit = {"output": "not run: the limit of tool turns was reached", "is_error": True}
    conversation.add_results(results_for(conversation, [limit]))

    response = await answer(conversation, tool_choice="none")

    assert response.stop_reason == END_TURN
    assert "limit of tool turns" in response.text_content()


async def test_asked_to_go_on_with_nothing_new_it_says_so():
    conversation = Conversation()
    conversation.add_user("help")
    await answer(conversation)

    response = await answer(conversation)

    assert response.text_content() == "Nothing is left to do; say what to do next."


MEGABYTE = 1 << 20


@pytest.mark.long(after=4)
@pytest.mark.parametrize(
    "prompt",
    [
        "a " * (MEGABYTE // 2),
        "read" + " " * MEGABYTE,
        "," * MEGABYTE,
        'run "' * (MEGABYTE // 5),
        "run x and " * (MEGABYTE // 10),
        "run x; ls " * (MEGABYTE // 10),
        "replace a with b in " * (MEGABYTE // 20),
        "find files " * (MEGABYTE // 11),
        "write f:\n" + "```x\n" * (MEGABYTE // 5),
        "「" * MEGABYTE,
        "をに" * (MEGABYTE // 2),
        "write f: " + "x" * MEGABYTE,
    ],
    ids=lambda prompt: prompt[:12].strip(),
)
async def test_a_megabyte_is_read_like_any_prompt(prompt: str):
    response = await answer_to(prompt)

    assert response.text_content()
    assert len(response.text_content()) < 5_000


VERBS = "read show list find search grep replace change write run plan help fix"
OTHERS = (
    "and then please in with to all files the a.py src *.py X Y `ls` を読んで 、 の に置換 「 」 , . ! ? - 1."
)
AWKWARD = [";", ":", "'o", '"q', 'w"', "```", "\n", "\n```\nx\n```\n", "\x00", "\u202e", "\ud800"]
WORDS = st.sampled_from([*f"{VERBS} {OTHERS}".split(" "), *AWKWARD])


def assert_legal(response: LlmResponse) -> None:
    calls = response.tool_calls()
    assert response.text_content()
    assert response.stop_reason == (TOOL_USE if calls else END_TURN)
    for call in calls:
        jsonschema.validate(call.arguments, SCHEMAS[call.tool_name])


@given(st.text())
async def test_any_text_gets_a_legal_answer(prompt: str):
    assert_legal(await answer_to(prompt))


@given(st.lists(WORDS, max_size=25), st.sampled_from([" ", "", "\n"]))
async def test_any_jumble_of_known_words_gets_a_legal_answer(words: list[str], joint: str):
    assert_legal(await answer_to(joint.join(words)))


@given(st.lists(WORDS, max_size=12), st.data())
async def test_any_results_are_summed_up_and_end_the_turn(words: list[str], data: st.DataObject):
    conversation = Conversation()
    conversation.add_user(" ".join(words))
    await answer(conversation)
    outcomes = st.fixed_dictionaries(
        {"output": st.text(), "is_error": st.booleans(), "is_rejected": st.booleans()}
    )
    drawn = [data.draw(outcomes) for _ in conversation.open_calls]
    if drawn:
        conversation.add_results(results_for(conversation, drawn))

    response = await answer(conversation)

    assert response.stop_reason == END_TURN
    assert response.text_content()
