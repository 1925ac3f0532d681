"""A rule that the person made in a dialog and wanted kept."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.permissions import Rule
from quorum.domain.review.questions import RuleScope


class SavedRule(Struct, frozen=True, kw_only=True):
    """A rule with its scope, PROJECT or USER, and the examples that it is checked against when it is loaded.

    `project` is the canonical path of the folder it holds in, None for one that holds everywhere. `saved` is
    when it was made, in UTC, as ISO 8601. `must_not_match` are calls that it must not cover.
    """

    rule: Rule
    project: str | None
    saved: str
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()

    @property
    def scope(self) -> RuleScope:
        """How far it holds."""
        return RuleScope.USER if self.project is None else RuleScope.PROJECT

    def is_like(self, other: SavedRule) -> bool:
        """Whether both say the same about the same calls."""
        return (self.rule.id, self.project) == (other.rule.id, other.project)


class HeldRule(Struct, frozen=True, kw_only=True):
    """A rule as the person looks at it: how far it holds, and where it stands.

    `scope` is None for one of the settings, which is changed there. `saved` is what is kept of it, if it is.
    `unused` says why it is not in force though it is there; it is empty where it is.
    """

    rule: Rule
    place: str
    scope: RuleScope | None = None
    saved: SavedRule | None = None
    unused: str = ""
