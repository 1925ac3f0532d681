"""Tokens that work once, cookies, and the limit to failed tries."""

from __future__ import annotations

from quorum.serve.access import MOST_SESSIONS, SESSION_SECS, BrowserSessions, FailedTries, SingleUseToken


class Clock:
    """Stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_token_works_once() -> None:
    token = SingleUseToken()
    issued = token.issue()

    assert [token.redeem(""), token.redeem(issued + "x"), token.redeem(issued), token.redeem(issued)] == [
        False,
        False,
        True,
        False,
    ]
    assert token.is_used


def test_before_a_token_is_issued_nothing_is_one() -> None:
    assert not SingleUseToken().redeem("")


def test_another_token_takes_the_place_of_the_one_before() -> None:
    token = SingleUseToken()
    first, second = token.issue(), token.issue()

    assert not token.redeem(first)
    assert token.redeem(second)


def test_a_cookie_is_known_until_it_is_too_old() -> None:
    clock = Clock()
    sessions = BrowserSessions(clock)
    cookie = sessions.begin()
    clock.now += SESSION_SECS

    assert sessions.find(cookie) is not None
    assert sessions.find("") is None
    assert sessions.find(cookie[:-1]) is None

    clock.now += 1
    assert sessions.find(cookie) is None


def test_each_browser_has_forms_of_its_own_and_the_oldest_gives_way() -> None:
    sessions = BrowserSessions()
    cookies = [sessions.begin() for _ in range(MOST_SESSIONS + 1)]
    found = [sessions.find(cookie) for cookie in cookies]

    assert found[0] is None
    assert len({each.csrf for each in found if each is not None}) == MOST_SESSIONS


def test_after_five_failed_tries_a_client_waits_and_others_do_not() -> None:
    clock = Clock()
    tries = FailedTries(clock)
    for _ in range(5):
        assert tries.wait_secs("192.0.2.1") == 0
        tries.note("192.0.2.1")

    assert tries.wait_secs("192.0.2.1") == 60
    assert tries.wait_secs("192.0.2.2") == 0

    clock.now += 60
    assert tries.wait_secs("192.0.2.1") == 0


def test_addresses_of_one_ipv6_network_are_one_client() -> None:
    tries = FailedTries(Clock())
    for number in range(5):
        tries.note(f"2001:db8::{number}")

    assert tries.wait_secs("2001:db8::ffff") > 0
    assert tries.wait_secs("2001:db8:0:1::1") == 0


def test_many_clients_together_make_all_wait() -> None:
    tries = FailedTries(Clock())
    for number in range(50):
        tries.note(f"192.0.2.{number}")

    assert tries.wait_secs("198.51.100.7") > 0
