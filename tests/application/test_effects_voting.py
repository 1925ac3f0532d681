"""Reviewers vote on the effects of a layer: they read what the person reads, quote it, and apply nothing."""

from __future__ import annotations

import pytest

from quorum.application.event_bus import EventBus
from quorum.application.export.effects_report import encode_packet, render_effects
from quorum.application.review.ballot_paper import QuorumPolicy
from quorum.application.review.voting import Voting
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.effects_voting import EffectsPacket, EffectsVoting, find_quoted
from quorum.domain.calls.effects import FileKind, FileState
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import CallFinished, CallStarted, EffectsVoted, Event, LayerEntered, TurnStarted
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.staging.layer_effects import EffectChoice, LayerEffect, LayerEffectKind, LayerEffects
from quorum.domain.staging.layer_work import LayerWork, SubagentChanges
from quorum.infrastructure.files.diff import render_unified_diff
from tests.support.builders import a_context
from tests.support.fake_gateway import Answers, FakeGateway, ballot
from tests.support.fake_layer import FakeLayer
from tests.support.fake_ledger import FakeLedger

DOWN = ProviderError("it is down", kind=ProviderErrorKind.OVERLOADED)


def ran(command: str, output: str) -> tuple[Event, ...]:
    return (
        CallStarted(context=a_context(0), tool="run_command", arguments={"command": command}),
        CallFinished(
            context=a_context(0),
            tool="run_command",
            outcome=Outcome.OK,
            decision=DecisionLabel.ALLOWED,
            output=output,
            duration_secs=0.1,
        ),
    )


class Rig:
    def __init__(
        self, *, mask: SecretMask | None = None, output: str = "1 failed\nexit code 1", **scripts: Answers
    ):
        self.layer = FakeLayer({"a.py": b"one\n", ".env": b"TOKEN=old\n"})
        self.ledger = FakeLedger()
        self.gateway = FakeGateway({f"p/{name}": answers for name, answers in scripts.items()})
        past = (
            TurnStarted(prompt="have it say two"),
            LayerEntered(layer="1", workspace="/w"),
            *ran("pytest", output),
        )
        records = [LedgerRecord(seq=seq, at_ms=0, event=event) for seq, event in enumerate(past)]
        events = EventBus((), ledger=self.ledger, past=records, mask=mask)
        policy = QuorumPolicy(reviewers=tuple(self.gateway.scripts), vote_timeout_secs=5)
        voting = Voting(gateway=self.gateway, policy=policy, events=events)
        self.review = EffectsReview(
            self.layer,
            events,
            queue_note=self._note,
            render_diff=render_unified_diff,
            is_sensitive=lambda path: path.endswith("/.env"),
            voting=EffectsVoting(voting, events, render=render_effects),
        )

    async def _note(self, _text: str) -> None:
        pass

    @property
    def asked(self) -> list[str]:
        """What each reviewer was asked."""
        messages = [session.conversation.messages[0] for session in self.gateway.sessions]
        return [each.text for each in messages if isinstance(each, UserMessage)]


async def test_reviewers_read_the_task_the_commands_and_the_diff_and_their_quote_names_the_file() -> None:
    rig = Rig(
        a=[ballot("reject", "it is wrong", objection="two()")], b=[ballot("approve")], c=[ballot("reject")]
    )
    rig.layer.write("a.py", b"one\ntwo()\n")

    packet = await rig.review.vote(await rig.review.read())

    assert len(rig.asked) == 3
    assert all("have it say two" in text and "pytest · exit code 1" in text for text in rig.asked)
    assert all("+two()" in text and packet.digest in text for text in rig.asked)
    votes = packet.votes
    assert votes is not None
    assert (votes.verdict, votes.quoted, votes.unshown) == ("rejected", {"p/a": "a.py"}, 0)
    assert "p/a reject (0.8 sure): it is wrong; in a.py it objects to: two()" in votes.lines
    assert rig.layer.workspace["a.py"] == b"one\n"
    assert (await rig.review.apply(packet, EffectChoice())).is_done
    assert rig.layer.workspace["a.py"] == b"one\ntwo()\n"


async def test_votes_are_asked_for_once_and_are_none_on_other_effects() -> None:
    rig = Rig(a=[ballot("approve"), ballot("reject")])
    rig.layer.write("a.py", b"two\n")
    await rig.review.vote(await rig.review.read())

    again = await rig.review.read()

    assert again.votes is not None
    assert (await rig.review.vote(again)).votes == again.votes
    assert len(rig.gateway.sessions) == 1
    rig.layer.write("a.py", b"three\n")
    changed = await rig.review.read()
    assert changed.votes is None
    voted = await rig.review.vote(changed)
    assert voted.votes is not None
    assert voted.votes.verdict == "rejected"
    assert [event.votes.verdict for event in rig.ledger.events if isinstance(event, EffectsVoted)] == [
        "approved",
        "rejected",
    ]


async def test_reviewers_that_all_failed_are_asked_again() -> None:
    rig = Rig(a=[DOWN, ballot("approve")])
    rig.layer.write("a.py", b"two\n")

    failed = await rig.review.vote(await rig.review.read())

    assert failed.votes is not None
    assert failed.votes.verdict == "unclear"
    voted = await rig.review.vote(await rig.review.read())
    assert voted.votes is not None
    assert voted.votes.verdict == "approved"


async def test_neither_sensitive_files_nor_known_secrets_are_shown_to_reviewers() -> None:
    mask = SecretMask()
    mask.learn("KEY", "a-secret-that-is-known")
    rig = Rig(mask=mask, output="a-secret-that-is-known\nexit code 1", a=[ballot("approve")])
    rig.layer.write(".env", b"TOKEN=new-one\n")
    rig.layer.write("a.py", b"key = 'a-secret-that-is-known'\n")

    packet = await rig.review.vote(await rig.review.read())

    (text,) = rig.asked
    assert ".env" in text
    assert "new-one" not in text
    assert "a-secret-that-is-known" not in text
    assert packet.votes is not None
    assert "the content of 1 file was not shown" in packet.votes.sentence


async def test_nobody_is_asked_where_there_are_no_reviewers_or_no_effects() -> None:
    alone, idle = Rig(), Rig(a=[ballot("approve")])
    alone.layer.write("a.py", b"two\n")

    assert (await alone.review.vote(await alone.review.read())).votes is None
    assert (await idle.review.vote(await idle.review.read())).votes is None
    assert idle.gateway.sessions == []


async def test_the_digest_covers_the_receipts_of_the_commands() -> None:
    red, green = Rig(output="1 failed\nexit code 1"), Rig(output="1 failed\nexit code 0")
    for rig in (red, green):
        rig.layer.write("a.py", b"two\n")

    one, other = await red.review.read(), await green.review.read()

    assert one.effects == other.effects
    assert one.digest != other.digest
    assert one.digest == (await red.review.read()).digest


async def test_votes_stand_in_what_scripts_and_the_terminal_read() -> None:
    rig = Rig(a=[ballot("reject", "not\nthat", objection="nowhere")])
    rig.layer.write("a.py", b"two\n")
    packet = await rig.review.vote(await rig.review.read())

    shown = render_effects("1", packet, str, {})
    value = encode_packet("1", packet, str)

    assert "votes       0 for, 1 against (majority): rejected" in shown
    assert "not that; it objects to what stands in no file that was shown: nowhere" in shown
    assert isinstance(value["votes"], dict)
    assert value["votes"]["verdict"] == "rejected"


def test_what_has_no_line_is_said_to_whoever_reads_or_judges_the_effects() -> None:
    work = LayerWork(layer="1", more=3, jobs=("npm\nstart",), subagents=1)
    packet = EffectsPacket(effects=LayerEffects(workspace="/w"), work=work)

    shown, value = render_effects("1", packet, str, {}), encode_packet("1", packet, str)

    assert "commands    3 earlier ones are not listed\nrunning     npm start\n" in shown
    assert "subagents   1 subagent worked in it: their own sessions say what they ran" in shown
    assert (value["more_commands"], value["running"], value["subagents"]) == (3, ["npm\nstart"], 1)


def test_each_changed_file_names_the_subagents_that_changed_it() -> None:
    state = FileState(kind=FileKind.FILE, mode=0o644, size=1)
    effects = [
        LayerEffect(path=path, kind=LayerEffectKind.CREATE, before=None, after=state, added=1, removed=0)
        for path in ("a", "b")
    ]
    both = [
        SubagentChanges(subagent_id=f"s-t{number}", name=f"writer {number}", paths={"/w/a": False})
        for number in (1, 2)
    ]
    packet = EffectsPacket(
        effects=LayerEffects(workspace="/w", effects=tuple(effects)),
        work=LayerWork(layer="1", subagents=2, changes=tuple(both)),
    )

    shown = render_effects("1", packet, str, {})

    assert "a  +1 −0\n    by writer 1, writer 2\n" in shown
    assert shown.endswith("b  +1 −0")


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("+b = 2\n+c = 3", "x.py"),
        ("b = 2\nc = 3", "x.py"),
        ("b  =\t2", "x.py"),
        ("a = 1", "x.py"),
        ("old = 0", "x.py"),
        ("d = 4", ""),
        ("  ", ""),
    ],
)
def test_a_quote_is_found_with_or_without_the_signs_of_its_lines(quote: str, found: str) -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n-old = 0\n a = 1\n+b = 2\n+c = 3\n"

    assert find_quoted(quote, {"y.py": "@@\n+z\n", "x.py": diff}) == found
