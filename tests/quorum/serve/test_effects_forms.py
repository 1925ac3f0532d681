"""The forms for what waits in a layer: a line for each file, ticked or not, says what is applied."""

from __future__ import annotations

from quorum.domain.staging.effects_answer import EffectNames, EffectsAnswer
from quorum.serve.approvals.page import read_effects_answer, render_effects_forms

NAMES = EffectNames(
    rows={name: (name,) for name in ("a.py", "<b>.py", ".github/ci.yml")},
    protected=frozenset({".github/ci.yml"}),
    conflicts=frozenset({"a.py"}),
)


def render(names: EffectNames, problem: str = "") -> str:
    return "".join(render_effects_forms(names, problem, "link", ""))


def test_all_is_ticked_but_what_is_protected_and_what_the_person_changed_is_not_replaced_unasked() -> None:
    page = render(NAMES)

    assert page.count(" checked>") == 2
    assert "protected: it can act on its own" in page
    assert page.count("replace what was changed there") == 1
    assert "<b>" not in page
    assert "<details>" not in page


def test_many_files_are_folded_but_those_to_be_decided_about_one_by_one_stand_open() -> None:
    rows = {f"file{number}": (f"file{number}",) for number in range(80)} | dict(NAMES.rows)
    page = render(EffectNames(rows=rows, protected=NAMES.protected, conflicts=NAMES.conflicts))

    folded = page.partition("<details>")[2]
    assert "file7<" in folded
    assert ".github/ci.yml" not in folded
    assert "a.py" not in folded.replace("<b>.py", "")


def test_what_is_too_long_for_the_page_can_be_sent_back_and_discarded_and_not_applied() -> None:
    page = render(NAMES, "too long")

    assert 'value="approve"' not in page
    assert 'value="reject"' in page
    assert 'value="discard"' in page


def test_what_is_ticked_is_what_is_applied() -> None:
    assert read_effects_answer({"decision": "approve", "take0": "on", "take1": "on"}, NAMES) == EffectsAnswer()
    assert read_effects_answer({"take1": "on", "take2": "on"}, NAMES) == EffectsAnswer(
        left_out=("a.py",), included=(".github/ci.yml",)
    )
    assert read_effects_answer({"take0": "on", "take1": "on", "replace0": "on"}, NAMES) == EffectsAnswer(
        overwritten=("a.py",)
    )
    assert read_effects_answer({"decision": "discard", "take0": "on"}, NAMES) == EffectsAnswer(discards=True)
