"""Which shell texts change the repository, by the git commands that stand in them."""

from __future__ import annotations

import re

_CHANGING = re.compile(
    r"(?:^|[\s;&|({`])(?:\S{0,200}/)?git(?:[ \t]+(?:-[cC][ \t]+\S+|-\S+)){0,20}[ \t]+"
    r"(?:add|am|apply|branch|bisect|checkout|cherry-pick|clean|commit|fetch|merge|mv|notes|pull|push|rebase|reset"
    r"|restore|revert|rm|stash|switch|tag|update-index|update-ref|gc)(?![\w-])"
)


def changes_repository(text: str) -> bool:
    """Whether a text seems to run a git command that writes to `.git`. It proves nothing: it decides what an
    approval of the text is asked to open, and only a person gives one."""
    return _CHANGING.search(text) is not None
