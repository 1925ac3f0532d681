"""How a person says what is to be reviewed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.code_review.change import CodeReviewRequest, parse_request


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("", CodeReviewRequest()),
        ("#12", CodeReviewRequest(pull_request=12)),
        ("#12 the locks", CodeReviewRequest(pull_request=12, focus="the locks")),
        ("#12 --all", CodeReviewRequest(pull_request=12, is_all=True)),
        ("main..HEAD", CodeReviewRequest(commits="main..HEAD")),
        ("main...topic/x  errors", CodeReviewRequest(commits="main...topic/x", focus="errors")),
        ("main..", CodeReviewRequest(commits="main..HEAD")),
        ("v1.2..v1.3", CodeReviewRequest(commits="v1.2..v1.3")),
        ("look at the locks", CodeReviewRequest(focus="look at the locks")),
        ("well... look", CodeReviewRequest(focus="well... look")),
        ("--output=x..y", CodeReviewRequest(focus="--output=x..y")),
    ],
)
def test_what_is_said_names_a_change_and_a_focus(text: str, request_: CodeReviewRequest) -> None:
    assert parse_request(text) == request_


@given(
    st.sampled_from(
        [
            CodeReviewRequest(),
            CodeReviewRequest(pull_request=7, is_all=True),
            CodeReviewRequest(commits="main...HEAD"),
            CodeReviewRequest(is_given=True),
        ]
    ),
    st.sampled_from(["", "the locks", "#3 and main..HEAD", "the given diff"]),
)
def test_a_request_is_read_from_its_own_text(request_: CodeReviewRequest, focus: str) -> None:
    asked = CodeReviewRequest(
        pull_request=request_.pull_request,
        commits=request_.commits,
        is_all=request_.is_all,
        is_given=request_.is_given,
        focus=focus,
    )
    assert parse_request(asked.text) == asked
