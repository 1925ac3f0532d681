from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorum.application.ports.people import PersonAnswer, ReviewQuestion
from quorum.application.review.approvers import MaskingApprover
from quorum.application.review.review import OpenReviewContext
from quorum.domain.calls.execution import Seal
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket, SecretMask
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Vote
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import Approve, Edit, Reject, ReviewAnswer, ReviewRequest, RuleOffer
from quorum.domain.review.rule_replay import PastAnswer, ReplayGroup, RuleReplay
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, a_context
from tests.support.fake_ports import FakePerson
from tests.support.review_contexts import a_ballot, a_review_context, voted

RANDOM = "w8Qm3xKd9Tz2Vb7Ljp4R"
KEY, OTHER = "q7Zrt9vX2m4kPwd3Ls8Y", "zzTop4ever-and-ever"
A, B = "ghp" + "_a1B2c3D4e5F6g7H8i9J0k1L2m3", "ghp" + "_Z9y8X7w6V5u4T3s2R1q0P9o8N7"


def a_request(arguments: Mapping[str, JsonValue], *, diff: str | None = None) -> ReviewRequest:
    packet = ReviewPacket(
        call=a_call("run_command", arguments), context=a_context(), seal=Seal(cwd="/ws", diff=diff)
    )
    return ReviewRequest(
        packet=packet,
        reasons=(f"it says {KEY}",),
        routine_reasons=(f"it says {KEY}",),
        batch_size=1,
        proposals=(f"run_command(echo {KEY})", "run_command(echo *)"),
    )


async def asked(
    request: ReviewRequest, answer: ReviewAnswer | None = None, review_context: OpenReviewContext | None = None
) -> tuple[FakePerson, PersonAnswer]:
    mask = SecretMask()
    mask.learn("KEY", KEY)
    mask.learn("OTHER", OTHER)
    person = FakePerson(lambda shown: answer or Approve(shown.packet.digest))
    question = ReviewQuestion(request, review_context or a_review_context())
    return person, await MaskingApprover(person, mask).ask(question)


async def test_the_person_sees_no_secret_and_approves_the_real_bytes() -> None:
    request = a_request({"command": f"curl -H 'x: {KEY}' h"})

    person, answer = await asked(request)

    (shown,) = person.requests
    assert shown.packet.call.arguments == {"command": "curl -H 'x: [secret:KEY]' h"}
    assert isinstance(shown.packet, MaskedPacket)
    assert answer == Approve(request.packet.digest)
    assert shown.routine_reasons == shown.reasons
    assert (shown.reasons, shown.proposals) == (("it says [secret:KEY]",), ("run_command(echo *)",))


async def test_what_the_model_wrote_before_the_call_is_masked() -> None:
    person, _ = await asked(replace(a_request({"command": "ls"}), preamble=f"I use {KEY}\nhere."))

    assert person.requests[0].preamble == "I use [secret:KEY]\nhere."


async def test_an_offer_whose_rule_holds_a_secret_is_not_shown_and_what_it_covers_is_masked() -> None:
    request = a_request({"command": "make"})
    hidden = RuleOffer(rules=("run_command(make)", f"run_command(echo {KEY})"), approvals=2)
    shown = RuleOffer(rules=("run_command(make *)",), approvals=2, covers=(f"make {KEY}",))

    offers = [(await asked(replace(request, offer=offer)))[0].requests[0].offer for offer in (hidden, shown)]

    assert offers == [None, replace(shown, covers=("make [secret:KEY]",))]


async def test_a_packet_without_a_secret_is_shown_as_it_is() -> None:
    request = a_request({"command": "ls"})

    person, _ = await asked(request)

    assert person.requests[0].packet is request.packet


async def test_what_reviewers_quote_is_hidden_too() -> None:
    review_context = a_review_context(voted(a_ballot("r", Vote.REJECT, f"prints {KEY}", objection=KEY)))

    person, _ = await asked(a_request({"command": "ls"}), review_context=review_context)

    (ballot,) = person.review_contexts[0].ballots
    assert (ballot.reason, ballot.objection) == ("prints [secret:KEY]", "[secret:KEY]")


async def test_an_edit_gets_back_what_was_hidden() -> None:
    request = a_request({"command": f"a {KEY} b {OTHER}", "env": [{"password": RANDOM}]})

    _, answer = await asked(
        request,
        Edit(
            {"command": "[secret:OTHER] [secret:KEY] [secret:NEW]", "env": [{"password": "[secret:password]"}]}
        ),
    )

    assert answer == Edit({"command": f"{OTHER} {KEY} [secret:NEW]", "env": [{"password": RANDOM}]})


async def test_values_hidden_by_the_same_word_come_back_in_their_order_or_not_at_all() -> None:
    request = a_request({"command": f"one --token {A} two --token {B}"})
    word = "[secret:github-token]"

    _, whole = await asked(request, Edit({"command": f"{word} and {word}"}))
    _, cut = await asked(request, Edit({"command": f"only {word}"}))

    assert whole == Edit({"command": f"{A} and {B}"})
    assert isinstance(cut, Reject)
    assert "it is not known which one" in str(cut.reason)


async def test_every_line_of_a_diff_keeps_its_sign_though_a_secret_goes_over_several() -> None:
    body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ"
    lines = [f"-----BEGIN PRIVATE {'KEY'}-----", body, body, f"-----END PRIVATE {'KEY'}-----"]
    diff = "@@ -1 +1,4 @@\n-old\n" + "".join(f"+{line}\n" for line in lines)

    person, _ = await asked(a_request({}, diff=diff))

    shown = person.requests[0].packet.seal.diff
    assert shown is not None
    assert body not in shown
    assert [line[:1] for line in shown.splitlines()] == ["@", "-", "+", "+", "+", "+"]


async def test_a_packet_that_is_recorded_with_a_mask_though_all_of_it_is_shown_is_known_as_such() -> None:
    shown, _ = await asked(a_request({"command": "PASSWORD=hunter22x make"}))
    whole, _ = await asked(a_request({"command": "make"}))

    assert shown.requests[0].packet.call.arguments == {"command": "PASSWORD=hunter22x make"}
    assert (shown.requests[0].is_recorded_whole, whole.requests[0].is_recorded_whole) == (False, True)


async def test_the_packet_as_it_is_comes_along_for_who_asks_to_see_it() -> None:
    request = a_request({"command": f"curl -H 'x: {KEY}' h"})

    person, answer = await asked(request, Edit({"command": f"curl {KEY}"}))

    shown = person.requests[0].packet
    assert isinstance(shown, MaskedPacket)
    assert shown.original is request.packet
    assert KEY not in repr(shown)
    assert answer == Edit({"command": f"curl {KEY}"})


async def test_examples_of_past_calls_show_no_secret() -> None:
    async def replay(_rules: Sequence[str]) -> RuleReplay:
        group = ReplayGroup(
            now=Answer.ALLOW, then=PastAnswer.REJECTED, calls=1, examples=(f"curl -H 'x: {KEY}' h",)
        )
        return RuleReplay(calls=1, sessions=1, groups=(group,))

    person, _ = await asked(a_request({"command": "make"}), None, a_review_context(replay=replay))

    told = person.review_contexts[0].replay
    assert told is not None
    found = await told(["run_command(curl *)"])
    assert found is not None
    assert found.groups[0].examples == ("curl -H 'x: [secret:KEY]' h",)
