"""What an account tells of a session, whatever form it is then given."""

from __future__ import annotations

import pytest

from quorum.application.export.narration import Account, CallCard, ExportRemark, Said, TurnHead, build_account
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.job import JobStatus
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    CallStarted,
    DiagnosticsReported,
    Event,
    JobEnded,
    JobStarted,
    MemoryAdded,
    MemoryApproved,
    MessageAdded,
    ResponseCompleted,
    ReviewDecided,
    SessionRewound,
    TurnStarted,
    UserCommandFinished,
    UserCommandStarted,
)
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord
from tests.support.builders import a_call, a_context, calls_response
from tests.support.past_sessions import START_MS, a_summary, a_turn, an_eventful_session, records_of


def account_from(records: tuple[LedgerRecord, ...]) -> Account:
    return build_account(a_summary(), records, lambda text: text)


def the_card(account: Account) -> CallCard:
    (card,) = (entry for entry in account.entries if isinstance(entry, CallCard))
    return card


def remarks(account: Account) -> list[str]:
    return [entry.line for entry in account.entries if isinstance(entry, ExportRemark)]


def test_work_in_the_background_is_told_as_a_command_or_a_subagent_with_its_end() -> None:
    context = a_context()
    account = account_from(
        records_of(
            [
                JobStarted(job_id="job-1", context=context, command="npm start"),
                JobStarted(job_id="job-2", context=context, command="read it", subagent_id="s.1"),
                JobEnded(job_id="job-1", status=JobStatus.ENDED, exit_code=0, duration_secs=1.5, output="ok"),
                JobEnded(
                    job_id="job-2", status=JobStatus.ANSWERED, exit_code=None, duration_secs=2, output="read"
                ),
            ]
        )
    )

    assert remarks(account) == [
        "the background command job-1 began:",
        "the background subagent job-2 began:",
        "job-1 ended after 1.5 s: exit code 0; it printed last:",
        "job-2 has reported after 2.0 s; its report:",
    ]


def test_turns_are_counted_from_one_and_hold_what_was_said() -> None:
    account = account_from(records_of([*a_turn("hello", "hi"), *a_turn("more", "no")]))

    assert account.entries == (
        TurnHead(number=1, at="2026-09-21 14:13:20 UTC", prompt="hello"),
        Said(model="fake/model", text="hi"),
        TurnHead(number=2, at="2026-09-21 14:13:24 UTC", prompt="more"),
        Said(model="fake/model", text="no"),
    )


def test_the_facts_add_up_tokens_and_costs() -> None:
    facts = dict(account_from(records_of([*a_turn("a", "b"), *a_turn("c", "d")])).facts)

    assert facts["Tokens"] == "20 in, 10 out"
    assert facts["Cost"] == "$0.0050"


def test_a_cost_that_is_known_in_part_is_not_given_for_the_whole() -> None:
    facts = dict(account_from(an_eventful_session("x")).facts)

    assert facts["Cost"] == "at least $0.0025; the price of some requests is not known"
    assert facts["Records"] == (
        "33 records, 1 cannot be understood: a newer quorum may have written them, or they are damaged; "
        "quorum sessions verify tells"
    )


def test_a_call_tells_who_approved_which_bytes_and_what_came_of_it() -> None:
    card = the_card(account_from(an_eventful_session("x")))

    assert (card.tool, card.outcome, card.decision) == ("edit_file", "ok", "approved by a person")
    assert (card.duration_secs, card.output, card.diff) == (0.25, "x", "@@ -0,0 +1 @@\n+x")
    assert '"path": "x2"' in (card.ran_with or "")
    digest = card.history[0].split("sha256 ")[1].rstrip(")")
    assert len(digest) == 64
    assert card.history == (
        f"put to review: x (packet sha256 {digest})",
        "x voted approve (0.9 sure): outside of what was asked, though it approves: x; it objects to: x",
        f"the models, by the rule majority: unclear (x approve, counted as reject; packet sha256 {digest})",
        f"approved by a person: x (packet sha256 {digest})",
        "1 file kept as before it; not every file was seen",
        "modified x, which it had not declared",
        "not every change of files could be seen",
    )


def test_what_was_taken_back_is_marked_where_it_stands() -> None:
    account = account_from(
        records_of(
            [
                *a_turn("one", "1"),
                *a_turn("two", "2"),
                *a_turn("three", "3"),
                SessionRewound(turn=1, conversation=True, files=False),
                *a_turn("four", "4"),
            ]
        )
    )

    heads = [entry for entry in account.entries if isinstance(entry, TurnHead)]
    assert [(head.prompt, head.taken_back) for head in heads] == [
        ("one", False),
        ("two", True),
        ("three", True),
        ("four", False),
    ]
    assert remarks(account) == ["taken back: the conversation from turn 2 on"]


def test_files_alone_taken_back_leave_the_turns_as_they_are() -> None:
    account = account_from(
        records_of([*a_turn("one", "1"), SessionRewound(turn=0, conversation=False, files=True)])
    )

    assert not any(entry.taken_back for entry in account.entries if isinstance(entry, TurnHead))
    assert remarks(account) == ["taken back: the files from turn 1 on"]


def test_a_call_without_an_end_on_record_says_so() -> None:
    asked = [
        TurnStarted(prompt="go"),
        ResponseCompleted(turn_index=0, response=calls_response(a_call("run_command", {"command": "make"}))),
    ]
    closed = MessageAdded(
        message=ToolResults((ToolResultMessage(tool_use_id="call-0", tool_name="run_command", output="gone"),))
    )

    open_card, closed_card = (
        the_card(account_from(records_of(asked))),
        the_card(account_from(records_of([*asked, closed]))),
    )

    assert (open_card.outcome, open_card.output) == ("no recorded end", None)
    assert (closed_card.outcome, closed_card.output) == (
        "no recorded end; the model read of it",
        "gone",
    )


def test_a_call_that_was_approved_and_killed_tells_of_the_approval_also_after_its_recovery() -> None:
    records = an_eventful_session("x")
    decided = next(n for n, each in enumerate(records) if isinstance(each.event, ReviewDecided))
    end = next(each for each in records if isinstance(each.event, CallFinished))
    assert isinstance(end.event, CallFinished)
    unknown = replace(end.event, outcome=Outcome.UNKNOWN, decision=DecisionLabel.NONE)

    asked = the_card(account_from(records[:decided]))
    killed = the_card(account_from(records[: decided + 1]))
    recovered = the_card(account_from((*records[: decided + 1], replace(end, event=unknown))))

    assert asked.decision == "put to review, and no answer is recorded"
    assert (killed.outcome, killed.decision) == ("no recorded end", "approved by a person")
    assert recovered.decision == "approved by a person"


def test_a_message_that_is_not_the_persons_prompt_is_distinguished() -> None:
    account = account_from(
        records_of([*a_turn("go", "no")[:2], MessageAdded(message=UserMessage("hook says"))])
    )

    assert account.entries[1:] == (ExportRemark("said to the model by the program or a hook:", "hook says"),)


def test_resuming_compaction_errors_and_unreadable_records_are_shown() -> None:
    lines = remarks(account_from(an_eventful_session("x")))

    assert lines[2:] == [
        "a block of x's own kind, kept but not read",
        "said into the running turn:",
        "the person ran a command of their own:",
        "their command ended: error, exit code 1, 500 ms; x; it printed:",
        "error: x",
        "the turn ended: failed (x)",
        "the conversation was compacted: it gave way to a summary (100 tokens before, 10 after"
        "; to keep in view: x)",
        "resumed with x in the mode ask",
        "taken back: the conversation and the files from turn 2 on",
        "1 file given back as before:",
        "record 32 cannot be understood",
    ]


def test_a_prompt_that_only_the_one_who_went_on_could_say_is_still_the_persons() -> None:
    first, second = a_turn("look", "here"), a_turn("", "gone on")
    said = MessageAdded(message=UserMessage("look"))
    account = account_from(records_of([first[0], second[0], said, *second[2:]]))

    assert [entry for entry in account.entries if isinstance(entry, ExportRemark)] == []


def test_a_redacted_record_is_named() -> None:
    record = LedgerRecord(seq=7, at_ms=START_MS, event=TurnStarted(prompt="***"), redacted=True)

    assert "something was taken out of record 7 later" in remarks(account_from((record,)))


@pytest.mark.parametrize("at_ms", [-(10**15), 10**18])
def test_an_impossible_time_spoils_nothing(at_ms: int) -> None:
    account = account_from((LedgerRecord(seq=0, at_ms=at_ms, event=TurnStarted(prompt="x")),))

    assert account.entries == (TurnHead(number=1, at="at an impossible time", prompt="x"),)


def test_a_cut_off_answer_says_where_it_stopped() -> None:
    from quorum.domain.conversation.response import StopKind, StopReason, TextBlock

    cut = LlmResponse(content=(TextBlock("half"),), stop_reason=StopReason(StopKind.MAX_TOKENS), model="m")

    assert remarks(account_from(records_of([ResponseCompleted(turn_index=0, response=cut)]))) == [
        "the answer stopped there: max_tokens"
    ]


def test_every_text_passes_the_mask() -> None:
    account = build_account(
        a_summary(title="S3CRET"), an_eventful_session("S3CRET"), lambda text: text.replace("S3CRET", "***")
    )

    assert "S3CRET" not in repr(account)


def test_an_event_of_a_call_that_no_answer_declared_still_makes_a_card() -> None:
    started = an_eventful_session("x")[13].event
    assert isinstance(started, CallStarted)

    assert the_card(account_from(records_of([started]))).tool == "edit_file"


def test_a_planned_call_keeps_the_arguments_of_the_model() -> None:
    planned = an_eventful_session("x")[7].event
    assert isinstance(planned, BatchPlanned)

    assert '"path": "x"' in the_card(account_from(records_of([planned]))).arguments


def test_a_command_of_the_persons_is_shown_once_with_what_it_printed_and_words_into_a_turn_as_such() -> None:
    account = account_from(
        records_of(
            [
                UserCommandStarted(command_id="c", command="make", told=True),
                UserCommandFinished(
                    command_id="c",
                    outcome=Outcome.ERROR,
                    exit_code=2,
                    output="no rule\n",
                    duration_secs=1.5,
                    remarks=("1 background process was ended",),
                    note="the person ran make",
                ),
                MessageAdded(message=UserMessage("the person ran make"), command_id="c"),
                TurnStarted(prompt="go"),
                MessageAdded(message=UserMessage("go")),
                MessageAdded(message=UserMessage("not that"), steers=True),
                UserCommandStarted(command_id="d", command="env", told=False),
            ]
        )
    )

    assert [entry for entry in account.entries if isinstance(entry, ExportRemark)] == [
        ExportRemark("the person ran a command of their own:", "make"),
        ExportRemark(
            "their command ended: error, exit code 2, 1.5 s; 1 background process was ended; it printed:",
            "no rule\n",
        ),
        ExportRemark("said into the running turn:", "not that"),
        ExportRemark("the person ran a command of their own, kept from the model:", "env"),
    ]


def test_a_line_added_to_an_instruction_file_is_shown_with_what_was_approved() -> None:
    scope = InstructionScope.PROJECT
    account = account_from(
        records_of(
            [
                MemoryApproved(file="/ws/AGENTS.md", scope=scope, line="use tabs", sha256="ab"),
                MemoryAdded(
                    file="/ws/AGENTS.md", scope=scope, line="use tabs", sha256="ab", notices=("not remembered",)
                ),
            ]
        )
    )

    assert [entry for entry in account.entries if isinstance(entry, ExportRemark)] == [
        ExportRemark("the person approved a line for /ws/AGENTS.md (new content: sha256 ab):", "use tabs"),
        ExportRemark("the line was added to /ws/AGENTS.md", "not remembered"),
    ]


def test_a_secret_that_a_terminal_sequence_takes_apart_is_not_made_whole_by_an_export() -> None:
    value = "correct-horse-battery"
    finished = ToolResultMessage(
        tool_use_id="call-0", tool_name="t", output="it is correct-\x1b[0mhorse-battery"
    )
    events: list[Event | None] = [
        TurnStarted(prompt="x"),
        ResponseCompleted(response=calls_response(a_call("t")), turn_index=0),
        MessageAdded(message=ToolResults((finished,))),
    ]

    account = build_account(a_summary(), records_of(events), lambda text: text.replace(value, "***"))

    assert the_card(account).output == "it is ***"


def test_what_was_attached_to_a_prompt_is_shown_with_its_content() -> None:
    file = AttachedFile(name="a.py", content="1\tone", first_line=1, last_line=1, total_lines=1, size_bytes=4)
    missing = AttachedFile(name="b.py", note="it is empty")
    message = UserMessage("look at @a.py", files=(file, missing))
    account = account_from(records_of([TurnStarted(prompt=message.text), MessageAdded(message=message)]))

    assert remarks(account)[:2] == ["attached: a.py · 1 line · 4 bytes", "b.py · not attached: it is empty"]
    assert next(entry.body for entry in account.entries if isinstance(entry, ExportRemark)) == "1   one"


def test_what_diagnostics_found_is_told_with_its_new_lines() -> None:
    report = DiagnosticsReported(name="ruff", files=("a.py",), lines=("a.py:1: bad",), new=1)
    account = build_account(a_summary(), records_of([report]), lambda text: text.replace("bad", "[hidden]"))

    assert account.entries == (
        ExportRemark("diagnostics ruff: 1 new line about 1 edited file", "a.py:1: [hidden]"),
    )
