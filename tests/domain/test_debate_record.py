"""The record of a debate: ids, rulings that stay, what is due in a round and what calls for another."""

import pytest

from quorum.domain.panel.debate_record import (
    AnswerDefence,
    DebateRecord,
    Intensity,
    ObjectionResponse,
    ObjectionRuling,
    RaisedObjections,
    RevisedAnswer,
    RoundRulings,
    RuledObjection,
    number_objections,
)
from quorum.domain.review.severity import Severity

UPHELD, REFUTED, OPEN = ObjectionRuling.UPHELD, ObjectionRuling.REFUTED, ObjectionRuling.OPEN


def raised(number: int, label: str, *severities: Severity) -> RaisedObjections:
    said = [("claim", "evidence", severity) for severity in severities]
    return RaisedObjections(round=number, label=label, objections=number_objections(number, label, said))


def ruled(number: int, **rulings: ObjectionRuling) -> RoundRulings:
    return RoundRulings(
        round=number,
        rulings=tuple(
            RuledObjection(objection=id_.replace("_", "-"), ruling=ruling, reason="so")
            for id_, ruling in rulings.items()
        ),
    )


def build(*said: RaisedObjections | AnswerDefence | RoundRulings | RevisedAnswer) -> DebateRecord:
    record = DebateRecord()
    for each in said:
        record = record.add(each)
    return record


def test_ids_name_the_round_and_who_objects() -> None:
    record = build(raised(1, "C", Severity.LOW), raised(1, "B", Severity.LOW, Severity.HIGH))
    assert [each.id for each in record.objections] == ["R1-B1", "R1-B2", "R1-C1"]


def test_a_ruling_that_settles_stays_and_an_open_one_is_replaced() -> None:
    record = build(
        raised(1, "B", Severity.HIGH, Severity.HIGH),
        ruled(1, R1_B1=UPHELD, R1_B2=OPEN),
        ruled(2, R1_B1=REFUTED, R1_B2=REFUTED),
    )
    assert [each.id for each in record.select(UPHELD)] == ["R1-B1"]
    assert [each.id for each in record.select(REFUTED)] == ["R1-B2"]


def test_what_nobody_ruled_on_is_open() -> None:
    record = build(raised(1, "B", Severity.LOW), RoundRulings(round=1, error="it is down"))
    assert [each.id for each in record.select(OPEN)] == ["R1-B1"]


def test_a_round_is_about_what_no_earlier_round_settled() -> None:
    record = build(
        raised(1, "B", Severity.LOW, Severity.LOW),
        ruled(1, R1_B1=REFUTED, R1_B2=OPEN),
        raised(2, "B", Severity.LOW),
        ruled(2, R1_B2=UPHELD, R2_B1=UPHELD),
    )
    assert [each.id for each in record.list_due(2)] == ["R1-B2", "R2-B1"], "also once the round is over"
    assert [each.id for each in record.list_due(3)] == []


@pytest.mark.parametrize(
    ("severity", "ruling", "mild", "strong"),
    [
        (Severity.CRITICAL, UPHELD, True, True),
        (Severity.HIGH, OPEN, True, True),
        (Severity.HIGH, REFUTED, False, True),
        (Severity.MEDIUM, UPHELD, False, True),
    ],
)
def test_what_calls_for_another_round(
    severity: Severity, ruling: ObjectionRuling, mild: bool, strong: bool
) -> None:
    record = build(raised(1, "B", severity), ruled(1, R1_B1=ruling))
    assert record.needs_round_after(1, Intensity.MILD) is mild
    assert record.needs_round_after(1, Intensity.STRONG) is strong
    assert not record.needs_round_after(2, Intensity.STRONG), "nobody objected in that round"


def test_the_answer_is_the_last_revision_there_is() -> None:
    record = build(
        RevisedAnswer(round=1, label="A", text="second"), RevisedAnswer(round=2, label="A", error="it is down")
    )
    assert record.find_answer("first") == "second"
    assert DebateRecord().find_answer("first") == "first"


def test_the_last_response_to_an_objection_counts() -> None:
    record = build(
        *(
            AnswerDefence(
                round=number,
                label="A",
                responses=(ObjectionResponse(objection="R1-B1", is_conceded=False, text=text),),
            )
            for number, text in ((1, "no"), (2, "still no"))
        )
    )
    found = record.find_response("R1-B1")
    assert found is not None
    assert found.text == "still no"
    assert record.find_response("R9-B1") is None
