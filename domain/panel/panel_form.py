"""What several models do with one question."""

from __future__ import annotations

from enum import StrEnum


class PanelForm(StrEnum):
    """In a discussion a moderator makes one text of all answers; in an ensemble the best answer stands, with
    what the others add; in a debate one answer is defended against objections; in a review models judge a
    change to a program. Of plans the best one goes to the person; of drafts of a file a moderator makes one."""

    DISCUSSION = "discussion"
    ENSEMBLE = "ensemble"
    DEBATE = "debate"
    REVIEW = "review"
    PLAN = "plan"
    DRAFT = "draft"
