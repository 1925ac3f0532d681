from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.unasked_calls import CallKind, SampledCall
from quorum.infrastructure.permissions.sample_file import SampleFile


def a_call(number: int, text: str = "make") -> SampledCall:
    return SampledCall(
        id=f"s/b/{number}",
        session_id="s",
        mode=Mode.AUTO,
        kind=CallKind.COMMANDS,
        text=text,
        at_ms=number,
    )


async def test_calls_are_kept_once_with_their_secrets_hidden(tmp_path: Path) -> None:
    file = SampleFile(tmp_path / "state" / "calls.jsonl", lambda text: text.replace("hunter2", "[secret:X]"))

    await file.add(a_call(1, "curl -u me:hunter2"))
    await file.add(a_call(1, "curl -u me:hunter2"))
    await file.add(a_call(2))

    assert [call.text for call in file.read_calls()] == ["curl -u me:[secret:X]", "make"]
    assert "hunter2" not in (tmp_path / "state" / "calls.jsonl").read_text()
    assert (tmp_path / "state" / "calls.jsonl").stat().st_mode & 0o077 == 0


async def test_a_secret_is_hidden_before_a_long_text_is_cut(tmp_path: Path) -> None:
    file = SampleFile(tmp_path / "calls.jsonl", lambda text: text.replace("hunter2", "[secret:X]"))

    await file.add(replace(a_call(1), change="x" * 3_996 + "hunter2" + "y" * 100))

    (kept,) = file.read_calls()
    assert len(kept.change) == 4_000
    assert "hun" not in kept.change


async def test_figures_follow_the_verdicts_of_another_process(tmp_path: Path) -> None:
    file, other = SampleFile(tmp_path / "calls.jsonl"), SampleFile(tmp_path / "calls.jsonl")
    for number in range(3):
        await file.add(a_call(number))
    before = file.count(CallKind.COMMANDS)

    other.keep_verdict("s/b/0", is_right=True)
    other.keep_verdict("s/b/1", is_right=False)
    after = file.count(CallKind.COMMANDS)

    assert (before.judged, before.wrong, before.waiting) == (0, 0, 3)
    assert (after.judged, after.wrong, after.waiting) == (2, 1, 1)
    assert file.count(CallKind.EDITS).judged == 0


async def test_the_newest_calls_are_kept(tmp_path: Path) -> None:
    file = SampleFile(tmp_path / "calls.jsonl", most_calls=2)
    for number in range(4):
        await file.add(a_call(number))

    assert [call.at_ms for call in file.read_calls()] == [2, 3]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "x"}', '{"id": "x", "is_right": 1}', "\x00"])
async def test_a_line_that_is_no_call_is_named_and_nothing_is_lost(tmp_path: Path, line: str) -> None:
    path = tmp_path / "calls.jsonl"
    file = SampleFile(path)
    await file.add(a_call(1))
    path.write_text(path.read_text() + line + "\n")
    before = path.read_text()

    with pytest.raises(ConfigError, match=r"calls\.jsonl:2: this is no sampled call"):
        file.count(CallKind.COMMANDS)
    with pytest.raises(ConfigError):
        await file.add(a_call(2))
    assert path.read_text() == before


def test_without_a_file_nothing_was_judged(tmp_path: Path) -> None:
    file = SampleFile(tmp_path / "calls.jsonl")

    assert file.read_calls() == ()
    assert file.count(CallKind.COMMANDS).judged == 0
