from __future__ import annotations

from docs.hook_points import PAGE, render
from quorum.application.calls.hooks import Hook
from quorum.domain.calls.hook_points import HookPoint, describe_point


def test_the_page_about_hooks_lists_the_points_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == render(page), "write it anew: python docs/hook_points.py"


def test_every_point_is_described_such_that_it_can_be_dispatched_and_reported() -> None:
    for point in HookPoint:
        one = describe_point(point)

        assert hasattr(Hook, point)
        assert type(one.default) in one.answers
        assert one.handed_back is None or one.handed_back.goes_with in one.answers
        assert "error" in one.remarks
