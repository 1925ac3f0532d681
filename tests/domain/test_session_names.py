"""How sessions are named by a part of their id."""

from __future__ import annotations

import pytest

from quorum.application.identifiers import generate_id
from quorum.domain.errors import LedgerError
from quorum.domain.sessions.stored_session import find_session, shorten_id
from tests.support.past_sessions import a_summary

ID = "0199f1a2-7c3d-7abc-8def-0123456789ab"


def test_an_id_is_shortened_to_its_time():
    assert shorten_id(ID, [a_summary(id=ID)]) == "0199f1a2-7c3d"


def test_an_id_of_the_same_millisecond_needs_more_letters():
    other = a_summary(id="0199f1a2-7c3d-7abd-8def-0123456789ab")

    short = shorten_id(ID, [a_summary(id=ID), other])

    assert short == "0199f1a2-7c3d-7abc"
    assert find_session(short, [a_summary(id=ID), other]).id == ID
    with pytest.raises(LedgerError, match="give more of the id"):
        find_session("0199f1a2-7c3d", [a_summary(id=ID), other])


def test_every_shortened_id_finds_its_session():
    listed = [a_summary(id=generate_id()) for _ in range(200)]

    for session in listed:
        assert find_session(shorten_id(session.id, listed), listed) is session


def test_an_id_that_is_short_stays_as_it_is():
    assert shorten_id("session-1", [a_summary(id="session-10")]) == "session-1"
