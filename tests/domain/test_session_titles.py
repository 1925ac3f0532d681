"""Titles of sessions in lists: the first prompt, or the name that a person gave."""

from __future__ import annotations

from quorum.domain.sessions.session_facts import StoredSessionFacts


def test_a_name_that_was_given_stays_over_later_prompts_and_goes_over_earlier_ones() -> None:
    named = StoredSessionFacts().after({"type": "session_renamed", "title": " flaky\n tests "})
    prompted = named.after({"type": "turn_started", "prompt": "go"})
    late = StoredSessionFacts().after({"type": "turn_started", "prompt": "go"})

    assert (named.title, prompted.title, prompted.turns) == ("flaky tests", "flaky tests", 1)
    assert late.after({"type": "session_renamed", "title": "flaky"}).title == "flaky"
    assert late.after({"type": "session_renamed", "title": "  "}).title == "go"
