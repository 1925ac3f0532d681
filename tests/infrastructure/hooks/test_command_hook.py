import asyncio
import json
import os
import tempfile
from pathlib import Path

import pytest

from quorum.application.calls.hooks import TurnEnd
from quorum.domain.calls.hook_points import Abort, Continue, ContinueWithMessages, Finish, Skip
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.errors import HookFailure
from quorum.infrastructure.hooks.command_hook import OUTPUT_BYTES
from tests.infrastructure.commands.command_bench import Daemon, eventually
from tests.infrastructure.hooks.hook_bench import Programs
from tests.support.hook_drafts import (
    a_call_draft,
    a_conversation,
    a_request_draft,
    a_result_draft,
)

_KEEP = "open('seen.json', 'w').write(json.dumps(given))\n"


def _seen(programs: Programs) -> dict[str, object]:
    seen: dict[str, object] = json.loads((programs.workspace / "seen.json").read_text())
    return seen


@pytest.mark.requirement("C01")
async def test_a_command_reads_the_call_with_its_context(programs: Programs):
    await programs.hook(_KEEP).answer(a_call_draft())

    assert _seen(programs) == {
        "event": "before_tool_call",
        "call": {
            "call_id": "call-0",
            "batch_id": "batch-1",
            "call_index": 0,
            "turn_index": 0,
            "tool": "write_file",
            "arguments": {"path": "a.txt", "content": "ä"},
            "risk": "high",
            "paths": ["/ws/a.txt"],
        },
    }


@pytest.mark.requirement("C01")
async def test_a_command_reads_the_result_whole(programs: Programs):
    await programs.hook(_KEEP).answer(a_result_draft("x" * 300_000))

    result = _seen(programs)["result"]
    assert isinstance(result, dict)
    assert result["output"] == "x" * 300_000
    assert (result["tool"], result["outcome"], result["risk"]) == ("read_file", "ok", "low")


@pytest.mark.requirement("C01")
async def test_a_command_reads_the_messages_of_a_request(programs: Programs):
    await programs.hook(_KEEP).answer(a_request_draft())

    assert _seen(programs) == {
        "event": "on_message_send",
        "messages": [
            {"index": 0, "role": "user", "text": "what is in a?"},
            {
                "index": 1,
                "role": "assistant",
                "text": "let me look",
                "calls": [{"call_id": "call-7", "tool": "read_file", "arguments": {"path": "a"}}],
            },
            {
                "index": 2,
                "role": "results",
                "results": [
                    {
                        "call_id": "call-7",
                        "tool": "read_file",
                        "output": "1 hello",
                        "is_error": False,
                        "is_rejected": False,
                    }
                ],
            },
        ],
    }


@pytest.mark.requirement("C01")
async def test_a_command_reads_the_messages_at_the_end_of_a_turn(programs: Programs):
    await programs.hook(_KEEP).answer(TurnEnd(a_conversation()))

    messages = _seen(programs)["messages"]
    assert isinstance(messages, list)
    assert messages[3] == {"index": 3, "role": "assistant", "text": "it says hello", "calls": []}


@pytest.mark.requirement("C03")
async def test_a_command_that_prints_nothing_changes_nothing(programs: Programs):
    silent = programs.command("true")
    call, result, request = a_call_draft(), a_result_draft(), a_request_draft()

    answers = [
        await silent.answer(call),
        await silent.answer(result),
        await silent.answer(request),
        await silent.answer(TurnEnd(a_conversation())),
    ]

    assert answers == [Continue(), Continue(), Continue(), Finish()]
    assert (call, result, request) == (a_call_draft(), a_result_draft(), a_request_draft())


@pytest.mark.requirement("C05")
async def test_a_command_skips_or_aborts_with_its_reason(programs: Programs):
    skips = programs.hook("answer(decision='skip', reason='not today')")
    skipped = await skips.answer(a_call_draft())
    aborts = programs.hook("answer(decision='abort', reason='enough')")

    assert skipped == Skip("not today")
    assert await aborts.answer(a_result_draft()) == Abort("enough")
    assert await aborts.answer(TurnEnd(a_conversation())) == Abort("enough")


@pytest.mark.requirement("C08")
async def test_a_command_edits_arguments_and_results(programs: Programs):
    call, result = a_call_draft(), a_result_draft("secret")

    await programs.hook("answer(arguments=given['call']['arguments'] | {'path': 'b.txt'})").answer(call)
    await programs.hook("answer(result=given['result']['output'].upper())").answer(result)

    assert call.arguments == {"path": "b.txt", "content": "ä"}
    assert result.output == "SECRET"


@pytest.mark.requirement("C08")
async def test_a_command_edits_the_messages_of_one_request(programs: Programs):
    request = a_request_draft()
    question, answer, results = request.messages

    await programs.hook(
        "messages = given['messages']\n"
        "messages[2]['results'][0]['output'] = '1 h****'\n"
        "answer(messages=[{'role': 'user', 'text': 'first of all'}, {'index': 0}, *messages[1:]])"
    ).answer(request)

    first, second, third, fourth = request.messages
    assert first == UserMessage("first of all")
    assert second is question
    assert third is answer
    assert fourth != results
    assert isinstance(fourth, ToolResults)
    assert fourth.results[0].output == "1 h****"


@pytest.mark.requirement("C09")
async def test_a_command_sends_the_model_back_to_work(programs: Programs):
    hook = programs.hook("answer(decision='continue_with', messages=['run the tests', 'then say so'])")

    answer = await hook.answer(TurnEnd(a_conversation()))

    assert answer == ContinueWithMessages(("run the tests", "then say so"))


@pytest.mark.long(after=4)
@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        ("[]", "messages is empty"),
        ("[7]", "messages[0] must be an object"),
        ("[{'role': 'assistant', 'text': 'I agree'}]", "messages[0] has no index, so it must be new"),
        ("[{'index': 9}]", "messages[0].index must be that of a message"),
        ("[{'index': True}]", "messages[0].index must be that of a message"),
        ("[given['messages'][1] | {'text': 'I agree'}]", "messages[0] rewrites what the model said"),
        ("[given['messages'][2] | {'results': []}]", "messages[0].results must be the same 1 results"),
        ("[given['messages'][2] | {'results': [{'call_id': 'x'}]}]", "must be the result of the call call-7"),
        ("[{'index': 0}, {'index': 1}]", "the call call-7 has lost its result"),
        ("[{'index': 2}]", "messages cannot be sent like that: there is no open call"),
        ("[{'index': 0, 'text': 1}]", "messages[0].text must be a text"),
    ],
)
@pytest.mark.requirement("C11")
async def test_messages_that_could_not_be_sent_are_an_error_and_change_nothing(
    programs: Programs, printed: str, sentence: str
):
    request = a_request_draft()

    with pytest.raises(HookFailure) as caught:
        await programs.hook(f"answer(messages={printed})").answer(request)

    assert sentence in str(caught.value)
    assert request == a_request_draft()


@pytest.mark.requirement("C12")
async def test_exit_code_2_skips_with_standard_error_as_the_reason(programs: Programs):
    hook = programs.hook("print('this is not JSON'); print('path is protected', file=sys.stderr); sys.exit(2)")

    assert await hook.answer(a_call_draft()) == Skip("path is protected")
    assert await hook.answer(a_result_draft()) == Skip("path is protected")
    assert await hook.answer(a_request_draft()) == Skip("path is protected")


@pytest.mark.requirement("C12")
async def test_there_is_nothing_to_skip_at_the_end_of_a_turn(programs: Programs):
    with pytest.raises(HookFailure, match="exited with 2, which means skip, and there is nothing to skip"):
        await programs.hook("sys.exit(2)").answer(TurnEnd(a_conversation()))


@pytest.mark.requirement("C11")
async def test_any_other_exit_code_is_an_error_with_what_was_said(programs: Programs):
    hook = programs.hook("print('{\"decision\": \"continue\"}'); sys.exit('\\x1b[31mboom')")

    with pytest.raises(HookFailure) as caught:
        await hook.answer(a_call_draft())

    assert str(caught.value).endswith("exited with 1: boom")


@pytest.mark.requirement("C11")
async def test_a_command_that_is_killed_is_an_error(programs: Programs):
    with pytest.raises(HookFailure, match="was killed by signal 9"):
        await programs.hook("os.kill(os.getpid(), 9)").answer(a_call_draft())


@pytest.mark.requirement("C11")
async def test_a_program_that_is_not_there_is_an_error_that_names_it(programs: Programs):
    with pytest.raises(HookFailure, match="there is no program no-such-program on PATH; install it"):
        await programs.command("no-such-program").answer(a_call_draft())


@pytest.mark.requirement("C11")
async def test_a_folder_that_is_gone_is_an_error(programs: Programs):
    programs.workspace.rmdir()

    with pytest.raises(HookFailure, match="could not be started"):
        await programs.command("true").answer(a_call_draft())


@pytest.mark.requirement("C11")
async def test_a_flood_of_output_is_ended_and_is_an_error(programs: Programs):
    with pytest.raises(HookFailure, match=f"printed more than {OUTPUT_BYTES:,} bytes"):
        await programs.command("yes").answer(a_call_draft())


@pytest.mark.long
@pytest.mark.requirement("C11")
async def test_a_command_out_of_time_is_ended_with_all_it_started(programs: Programs):
    daemon = Daemon(programs.folder)
    hook = programs.command("sh", "-c", f"{daemon.command}; sleep 60", timeout_secs=1.5)

    with pytest.raises(HookFailure, match=r"took longer than 1\.5 s"):
        await hook.answer(a_call_draft())

    assert not daemon.is_alive()


@pytest.mark.long
@pytest.mark.requirement("C11")
async def test_a_cancelled_turn_ends_the_command_with_all_it_started(programs: Programs):
    daemon = Daemon(programs.folder)
    hook = programs.command("sh", "-c", f"{daemon.command}; sleep 60")
    task = asyncio.create_task(hook.answer(a_call_draft()))  # type: ignore[arg-type]
    await eventually(daemon.ready.exists)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert not daemon.is_alive()


async def test_a_command_runs_in_the_workspace_without_our_keys(programs: Programs):
    programs.environ |= {"OUR_KEY": "k", "ANTHROPIC_API_KEY": "k", "QUORUM_CONFIG": "k", "PLAIN": "seen"}
    hook = programs.hook("answer(arguments={'cwd': os.getcwd(), 'names': sorted(os.environ)})")
    call = a_call_draft()

    await hook.answer(call)

    assert call.arguments["cwd"] == str(programs.workspace)
    names = call.arguments["names"]
    assert isinstance(names, list)
    assert "PLAIN" in names
    assert not {"OUR_KEY", "ANTHROPIC_API_KEY", "QUORUM_CONFIG"} & set(names)


async def test_a_command_leads_a_session_of_its_own(programs: Programs):
    call = a_call_draft()

    await programs.hook("answer(arguments={'session': os.getsid(0), 'group': os.getpgid(0)})").answer(call)

    assert call.arguments["session"] == call.arguments["group"]
    assert call.arguments["session"] != os.getsid(0)


async def test_words_of_a_command_are_no_shell(programs: Programs):
    words = ["$(touch evil)", "a b", "'", "; touch evil", "*", "", "-n"]
    call = a_call_draft()

    await programs.hook("answer(arguments={'words': sys.argv[1:]})", *words).answer(call)

    assert call.arguments["words"] == words
    assert not (programs.workspace / "evil").exists()


async def test_a_command_that_does_not_read_its_input_is_no_error(programs: Programs):
    result = a_result_draft("x" * 2_000_000)

    assert await programs.command("echo", '{"decision": "skip"}').answer(result) == Skip()


async def test_what_a_command_is_given_lies_nowhere(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    while_it_runs = programs.hook(f"answer(arguments={{'left': os.listdir({str(scratch)!r})}})")
    call = a_call_draft()

    await while_it_runs.answer(call)

    assert call.arguments["left"] == []
    assert os.listdir(scratch) == []


@pytest.mark.long
async def test_several_runs_of_one_command_do_not_disturb_each_other(programs: Programs):
    hook = programs.hook("answer(arguments={'index': given['call']['call_index']})")
    calls = [a_call_draft(index=index) for index in range(8)]

    await asyncio.gather(*(hook.answer(call) for call in calls))

    assert [call.arguments["index"] for call in calls] == list(range(8))
