"""What the sessions of a change show of it: who decided what, votes and tests, and no text as markup."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from markdown_it import MarkdownIt

from quorum.application.export.session_evidence import (
    SharedWork,
    gather_evidence,
    render_comment,
    render_trailers,
)
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.calls.execution import Outcome, Seal
from quorum.domain.calls.job import JobStatus
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    EffectsApproved,
    EffectsObserved,
    EffectsReviewed,
    EffectsVoted,
    Event,
    JobEnded,
    JobStarted,
    ReviewDecided,
    ReviewRequested,
    UserCommandFinished,
    UserCommandStarted,
    VoteCast,
)
from quorum.domain.events.staging import EffectsDecision
from quorum.domain.replacing import replace
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.stored_session import Anchor
from quorum.domain.staging.effects_answer import EffectsVotes
from tests.support.builders import a_context
from tests.support.past_sessions import an_eventful_session, records_of

HEAD = "ab" * 32
HOSTILE = (
    "`@everyone` [x](https://x.example) <b>\n\n# big\n| a | b |\n``` <!-- ![](https://x.example/i.png) \u202e"
)


def a_work(records: Iterable[LedgerRecord], title: str = "mend it") -> SharedWork:
    anchor = Anchor(session_id="0199-a", records=7, head=HEAD, redactions=0, redaction_head="", at_ms=1)
    return SharedWork(title=title, anchor=anchor, evidence=gather_evidence(records))


def a_call(
    line: str, call_id: str, *, code: int | None = 0, decision: DecisionLabel = DecisionLabel.ALLOWED
) -> list[Event]:
    context = a_context(call_id=call_id)
    arguments = {"command": line}
    output = "printed" if code is None else f"exit code 9\nprinted\nexit code {code}"
    return [
        CallStarted(context=context, tool="run_command", arguments=arguments),
        CallFinished(
            context=context,
            tool="run_command",
            outcome=Outcome.OK,
            decision=decision,
            output=output,
            duration_secs=1.0,
        ),
    ]


def a_review(line: str, call_id: str, decision: DecisionLabel, *votes: tuple[str, str]) -> list[Event]:
    context = a_context(call_id=call_id)
    call = ToolCall(tool_name="run_command", arguments={"command": line}, native_id=call_id)
    packet = ReviewPacket(call=call, context=context, seal=Seal(cwd="/p"))
    return [
        ReviewRequested(context=context, packet=packet, digest=packet.digest, reasons=("it writes",)),
        *(
            VoteCast(
                context=context, digest=packet.digest, reviewer=who, verdict=verdict, confidence=None, reason=""
            )
            for who, verdict in votes
        ),
        ReviewDecided(context=context, digest=packet.digest, decision=decision, reason=None),
    ]


def an_edit(path: str, call_id: str) -> list[Event]:
    change = FileChange(path=path, kind=ChangeKind.MODIFIED, declared=True)
    return [
        EffectsObserved(context=a_context(call_id=call_id), effects=Effects(changes=(change,), complete=True))
    ]


def test_who_decided_what_with_which_votes_is_listed_by_who_it_was() -> None:
    work = a_work(
        records_of(
            [
                *a_review("pip install x", "c1", DecisionLabel.APPROVED, ("m/a", "approve"), ("m/b", "reject")),
                *a_call("pip install x", "c1", decision=DecisionLabel.APPROVED),
                *a_review("make", "c2", DecisionLabel.ALLOWED, ("m/a", "approve")),
                *a_call("make", "c2"),
                *a_review("rm -r build", "c3", DecisionLabel.REJECTED),
            ]
        )
    )

    comment = render_comment([work], str)

    people, models = comment.split("**Decided without a person, after votes of models**")
    assert (
        "- `run_command` `pip install x`: approved by a person; votes: `m/a` `approve`, `m/b` `reject`"
        in people
    )
    assert "- `run_command` `rm -r build`: rejected by a person" in people
    assert "- `run_command` `make`: allowed without asking a person; votes: `m/a` `approve`" in models
    assert "- 2 calls: 1 approved by a person, 1 allowed without asking a person" in comment
    assert f"`0199-a`, `mend it`: 7 records, each fits; head `{HEAD}`" in comment
    trailer = f"Quorum-Session: 0199-a head={HEAD} records=7 calls=2 decided-by-person=2 votes=3\n"
    assert render_trailers([work]) == trailer


def test_effects_of_a_layer_are_decided_by_a_person_with_the_votes_on_just_these() -> None:
    def voted(digest: str, verdict: str) -> EffectsVoted:
        vote = VoteRecord(model="a/b", verdict=verdict, reasoning="", confidence=None)
        votes = EffectsVotes(digest=digest, verdict="unclear", count="one", votes=(vote,))
        return EffectsVoted(layer="1", votes=votes)

    events = [
        voted("d1", "reject"),
        EffectsReviewed(layer="1", decision=EffectsDecision.REJECTED, digest="d1", words="smaller"),
        voted("d2", "approve"),
        EffectsApproved(layer="1", workspace="/w", digest="d2", folded={"build/": 3}),
        EffectsReviewed(layer="1", decision=EffectsDecision.APPLIED, digest="d2", files=3),
        EffectsApproved(layer="1", workspace="/w", digest="d3"),
    ]
    work = a_work(records_of(events))

    lines = render_comment([work], str).splitlines()

    assert [line for line in lines if "effects" in line] == [
        "- `effects of a layer`: rejected by a person; reason: `smaller`; votes: `a/b` `reject`",
        "- `effects of a layer` `3 files`: approved by a person; votes: `a/b` `approve`",
        "- `effects of a layer` `0 files`: approved by a person",
    ]
    assert "decided-by-person=3 votes=2" in render_trailers([work])


def test_votes_of_an_earlier_review_of_a_call_do_not_count_for_the_next() -> None:
    events = [
        *a_review("make", "c1", DecisionLabel.REJECTED, ("m/a", "reject")),
        *a_review("make all", "c1", DecisionLabel.APPROVED, ("m/b", "approve")),
    ]

    first, second = gather_evidence(records_of(events)).reviews

    assert (first.votes, second.votes) == ((("m/a", "reject"),), (("m/b", "approve"),))


def test_each_test_is_listed_as_it_ended_last_and_as_stale_where_files_changed_since() -> None:
    work = a_work(
        records_of(
            [
                *a_call("pytest -q", "c1", code=1),
                *a_call("npm test", "c2", code=0),
                *an_edit("/p/a.py", "c3"),
                *an_edit("/p/a.py", "c4"),
                *a_call("pytest -q", "c4", code=0),
                *a_call("ls", "c5", code=0),
            ]
        )
    )

    comment = render_comment([work], str)

    assert "- `pytest -q`: exit code 0\n" in comment
    assert "- `npm test`: exit code 0, and files changed after it" in comment
    assert "`ls`" not in comment
    assert work.evidence.changed == {"/p/a.py"}


def test_a_line_like_an_ending_that_a_killed_command_printed_is_not_its_ending() -> None:
    started, finished = a_call("pytest -q", "c1")
    assert isinstance(finished, CallFinished)
    killed = replace(finished, output="exit code 0\nkilled by SIGKILL\n1 background process was ended")

    comment = render_comment([a_work(records_of([started, killed]))], str)

    assert "- `pytest -q`: ended without an exit code" in comment


def test_a_command_that_went_on_in_the_background_counts_as_it_ended_there() -> None:
    context = a_context(call_id="c1")
    started, finished = a_call("pytest -q", "c1", code=None)
    events = [
        started,
        JobStarted(job_id="j", context=context, command="pytest -q"),
        finished,
        JobEnded(job_id="j", status=JobStatus.ENDED, exit_code=1, duration_secs=9.0, output="failed"),
    ]

    evidence = gather_evidence(records_of(events))

    assert [each.command.ending for each in evidence.commands] == ["exit code 1"]


def test_a_stopped_command_is_told_as_stopped_and_a_subagent_as_no_command() -> None:
    context = a_context(call_id="c1")
    events = [
        JobStarted(job_id="j", context=context, command="pytest -q"),
        JobEnded(job_id="j", status=JobStatus.STOPPED, exit_code=None, duration_secs=9.0),
        JobStarted(job_id="k", context=context, command="pytest has to pass", subagent_id="s.1"),
        JobEnded(job_id="k", status=JobStatus.ANSWERED, exit_code=None, duration_secs=9.0, output="it does"),
    ]

    evidence = gather_evidence(records_of(events))

    assert [(each.command.command, each.command.ending) for each in evidence.commands] == [
        ("pytest -q", "stopped")
    ]
    assert evidence.amounts["background subagent"] == 1


def test_commands_of_the_person_count_with_their_exit_codes() -> None:
    own = [
        UserCommandStarted(command_id="o", command="make test", told=True),
        UserCommandFinished(
            command_id="o", outcome=Outcome.ERROR, exit_code=2, output="failed", duration_secs=1.0
        ),
    ]

    assert "- `make test`: exit code 2" in render_comment([a_work(records_of(own))], str)


def test_hostile_text_is_code_and_nothing_else() -> None:
    events = [
        *a_review(HOSTILE, "c1", DecisionLabel.APPROVED, (HOSTILE, HOSTILE)),
        *a_call(f"pytest {HOSTILE}", "c2"),
        *a_call(HOSTILE, "c3", decision=DecisionLabel.EDITED),
    ]
    works = [a_work(records_of(events), HOSTILE), a_work(an_eventful_session(HOSTILE), HOSTILE)]

    comment = render_comment(works, str)

    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(comment)
    inner = [child for token in tokens for child in token.children or ()]
    assert {each.type for each in tokens} <= {
        "heading_open", "heading_close", "inline", "bullet_list_open", "bullet_list_close", "list_item_open",
        "list_item_close", "paragraph_open", "paragraph_close",
    }  # fmt: skip
    assert {each.type for each in inner} <= {
        "text", "code_inline", "strong_open", "strong_close", "html_inline", "softbreak",
    }  # fmt: skip
    assert [each.content for each in inner if each.type == "html_inline"] == ["<sub>", "</sub>"]
    assert not any(
        "everyone" in each.content or "x.example" in each.content for each in inner if each.type == "text"
    )
    assert sum("@everyone" in each.content for each in inner if each.type == "code_inline") > 5
    assert "\u202e" not in comment


def test_what_is_masked_stays_masked_and_the_comment_is_never_too_long() -> None:
    long = "x`" * 500
    events = [
        event
        for number in range(30)
        for event in (
            *a_review(
                f"{long}{number}", f"c{number}", DecisionLabel.APPROVED, *((long, long) for _ in range(9))
            ),
            *a_call(f"pytest {number} {long}", f"d{number}"),
        )
    ]
    works = [a_work(records_of(events), f"secret {long}")] * 30

    comment = render_comment(works, lambda text: text.replace("secret", "[secret:X]"))

    assert "[secret:X]" in comment
    assert "secret x" not in comment
    assert len(comment) < 65_536


def test_what_is_counted_of_a_session_is_what_it_holds() -> None:
    evidence = gather_evidence(an_eventful_session("text"))

    assert evidence.amounts["vote"] == 1
    assert evidence.amounts["diff"] == 1
    assert sum(evidence.decisions.values()) == evidence.amounts["call"]
    assert Decimal(evidence.amounts["prompt"]) > 0
