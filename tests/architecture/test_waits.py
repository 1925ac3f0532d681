"""Tests wait long enough for what has to come: what hangs is found by the limit of every test."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import HealthCheck, settings

from tests.support.examples import QUICK, examples

ROOT = Path(__file__).parents[2]

_WAIT = re.compile(r"(?:asyncio\.timeout\(|wait_for\(.*, (?:timeout=)?|has_ended\(within=)(\d+(?:\.\d+)?)\)")
_OWN_LIMITS = re.compile(r"suppress_health_check|deadline=(?!None)")
_LEAST_SECS = 30

# Here the time itself is what is tested, or the wait is tried again.
SHORT = {
    "tests/application/test_endless_answers.py",
    "tests/e2e/test_pending_messages_survive_crashes.py",
    "tests/infrastructure/mcp/test_mcp_questions.py",
    "tests/support/terminal.py",
    "tests/tui/test_typing_storm.py",
}


def test_no_test_fails_because_the_machine_is_slow_for_half_a_minute() -> None:
    short = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("*.py")
        for wait in _WAIT.findall(path.read_text(encoding="utf-8"))
        if float(wait) < _LEAST_SECS
    }

    assert short == SHORT


def test_no_property_fails_because_the_machine_is_slow_to_make_or_try_its_examples() -> None:
    others = [HealthCheck.function_scoped_fixture]
    for chosen in (settings.get_profile("default"), settings.get_profile(QUICK), examples(5, unchecked=others)):
        assert chosen.deadline is None
        assert HealthCheck.too_slow in chosen.suppress_health_check
    own = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("*.py")
        if _OWN_LIMITS.search(path.read_text(encoding="utf-8"))
    }
    assert own == {"tests/architecture/test_waits.py", "tests/support/examples.py"}
