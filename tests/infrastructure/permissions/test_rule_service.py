from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quorum.application.ports.rules import RuleService
from quorum.domain.conversation.context_account import ContextKind
from quorum.domain.errors import ConfigError
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import RuleScope
from quorum.domain.review.unasked_calls import CallKind
from tests.support.real_session import RealSession, SessionStage

RULES = (
    '[permissions]\ndeny = ["run_command(rm *)"]\nallow = ["run_command(read-only)", "run_command(make *)"]\n'
)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[RealSession]:
    async with SessionStage(tmp_path, more_settings=RULES).opened() as opened:
        yield opened


def service(session: RealSession) -> RuleService:
    return session.agent.rules


async def ids(session: RealSession) -> list[str]:
    return [held.rule.id for held in await service(session).list_rules()]


async def answer_about(session: RealSession, call: str) -> Answer:
    return (await service(session).try_call(call))[0]


async def test_the_strictest_come_first_with_the_place_they_stand_in(session: RealSession) -> None:
    held = await service(session).list_rules()

    assert [one.rule.id for one in held] == [
        "deny run_command(rm *)",
        "allow run_command(read-only)",
        "allow run_command(make *)",
    ]
    assert "quorum.toml" in held[0].place
    assert held[0].scope is None


async def test_a_command_or_a_tool_with_json_is_decided_about_as_in_a_run(session: RealSession) -> None:
    assert await answer_about(session, "ls") is Answer.ALLOW
    assert await answer_about(session, "rm x") is Answer.DENY
    assert await answer_about(session, "cargo build") is Answer.ASK
    assert await answer_about(session, 'read_file {"path": "a.py"}') is Answer.ALLOW
    assert await answer_about(session, 'write_file {"path": "a.py", "content": ""}') is Answer.ASK


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("no_such_tool {}", 'there is no tool "no_such_tool"'),
        ('read_file {"path": 3}', "these arguments do not fit read_file"),
        ("read_file {", "the arguments are no JSON"),
    ],
)
async def test_what_is_no_call_is_shown(session: RealSession, call: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        await service(session).try_call(call)


@pytest.mark.parametrize("scope", list(RuleScope))
async def test_a_rule_that_is_added_counts_from_the_next_call_on(
    session: RealSession, scope: RuleScope
) -> None:
    await service(session).add("run_command(cargo *)", Answer.ALLOW, scope)

    assert await answer_about(session, "cargo build") is Answer.ALLOW
    (made,) = [held for held in await service(session).list_rules() if held.rule.text == "run_command(cargo *)"]
    assert made.scope is scope
    assert (made.saved is not None) is (scope is not RuleScope.SESSION)


async def test_a_rule_that_denies_can_be_added_too_and_wins(session: RealSession) -> None:
    await service(session).add("run_command(make *)", Answer.DENY, RuleScope.SESSION)

    assert await answer_about(session, "make test") is Answer.DENY


@pytest.mark.parametrize("scope", list(RuleScope))
async def test_a_rule_that_is_removed_counts_no_more_here_or_later(
    session: RealSession, scope: RuleScope
) -> None:
    await service(session).add("run_command(cargo *)", Answer.ALLOW, scope)
    (made,) = [held for held in await service(session).list_rules() if held.rule.text == "run_command(cargo *)"]

    await service(session).remove(made)

    assert await answer_about(session, "cargo build") is Answer.ASK
    assert "allow run_command(cargo *)" not in await ids(session)


async def test_a_rule_of_the_settings_stays_and_the_place_to_remove_it_is_reported(
    session: RealSession,
) -> None:
    (fixed, *_) = await service(session).list_rules()

    with pytest.raises(ConfigError, match=r"is a rule of the settings \(permissions\.deny, .*quorum\.toml"):
        await service(session).remove(fixed)

    assert fixed.rule.id in await ids(session)


async def test_what_is_no_rule_is_not_added(session: RealSession) -> None:
    assert "this is not a rule" in (service(session).preview_rule("x(", Answer.ALLOW).problem or "")
    with pytest.raises(ConfigError, match="this is not a rule"):
        await service(session).add("x(", Answer.ALLOW, RuleScope.SESSION)


async def test_the_outlook_names_the_files_a_rule_is_about(session: RealSession, tmp_path: Path) -> None:
    (tmp_path / "work" / "src").mkdir()
    (tmp_path / "work" / "src" / "a.py").write_text("")

    assert service(session).preview_rule("write_file(src/**)", Answer.ALLOW).covers == ("src/a.py",)


async def test_the_mode_has_the_last_word(session: RealSession) -> None:
    await session.agent.review.set_mode(Mode.READ_ONLY)

    assert service(session).last_word == "the mode is read-only: it does not run"


async def test_the_last_word_names_the_calls_that_a_mode_was_too_often_wrong_about(
    session: RealSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await session.agent.review.set_mode(Mode.AUTO)
    monkeypatch.setattr(session.agent.review, "list_asked", lambda: (CallKind.COMMANDS, CallKind.EDITS))

    word = "the mode is auto: commands and edits are asked about; else it runs, unless a guard objects"
    assert service(session).last_word == word


async def test_the_instructions_and_tools_of_a_real_session_are_counted_apart(session: RealSession) -> None:
    tokens = {share.kind: share.tokens for share in session.agent.context.account.shares}

    assert tokens[ContextKind.INSTRUCTIONS] > 100
    assert tokens[ContextKind.TOOLS] > 500
    assert sum(tokens.values()) == pytest.approx(session.agent.context.account.tokens, abs=2)
