"""Links to decisions: for one packet, one browser, and once."""

from __future__ import annotations

from quorum.serve.access import MOST_SESSIONS
from quorum.serve.approvals.page import DecisionLinks, DecisionTarget

TARGET = DecisionTarget(csrf="one", app="app 1", digest="d" * 64)


def test_a_link_stays_the_same_until_it_is_used() -> None:
    links = DecisionLinks()
    link = links.link_to(TARGET)

    assert links.link_to(TARGET) == link
    assert links.redeem(link, "one") == TARGET
    assert links.redeem(link, "one") is None
    assert links.link_to(TARGET) != link


def test_a_link_is_for_the_browser_that_it_was_made_for() -> None:
    links = DecisionLinks()
    link = links.link_to(TARGET)

    assert links.redeem(link, "two") is None
    assert links.find(link, "one") == TARGET


def test_the_oldest_link_gives_way_to_a_new_one() -> None:
    links = DecisionLinks()
    made = [
        links.link_to(DecisionTarget(csrf="one", app="a", digest=str(n))) for n in range(MOST_SESSIONS * 64 + 1)
    ]

    assert links.find(made[0], "one") is None
    assert links.find(made[-1], "one") is not None


def test_lists_of_fifty_keep_their_links_in_as_many_browsers_as_there_may_be() -> None:
    links = DecisionLinks()
    targets = [
        DecisionTarget(csrf=str(browser), app="inbox", digest=str(number))
        for browser in range(MOST_SESSIONS)
        for number in range(50)
    ]
    made = [links.link_to(target) for target in targets]

    assert [links.redeem(link, target.csrf) for link, target in zip(made, targets, strict=True)] == targets
