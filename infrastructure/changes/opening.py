"""Opens what a session needs to review changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quorum.application.panel.panel import Panel
from quorum.application.turn.run_agent import FinalReviewStep, TurnParts
from quorum.domain.code_review.change import Change, CodeReviewPolicy
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError
from quorum.domain.review.ballot import QuorumRule, parse_lens
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.changes.folder_tools import LookingParts, choose_folder_tools
from quorum.infrastructure.changes.read_change import ReadChange
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.schema import Settings

if TYPE_CHECKING:  # loaded where changes are reviewed
    from quorum.application.panel.code_review import CodeReview
    from quorum.infrastructure.changes.repository_changes import RepositoryChanges

_APPROVED = "approved-changes.json"


def build_code_review_policy(settings: Settings) -> CodeReviewPolicy:
    """How changes are reviewed."""
    return CodeReviewPolicy(
        rule=QuorumRule.parse(settings.quorum.rule),
        min_votes=settings.quorum.min_votes,
        max_part_bytes=settings.code_review.max_part_bytes,
        lenses={name: parse_lens(text) for name, text in settings.quorum.lenses.items()},
    )


class SessionChanges:
    """The changes that can be reviewed in a session, and how.

    Raises ConfigError where plans are to be reviewed and there is nobody who could.
    """

    def __init__(
        self,
        settings: Settings,
        asked: AskedModels,
        kind: SessionKind,
        *,
        root: Path,
        environ: Mapping[str, str],
        looking: LookingParts,
        paths: PathPolicy,
    ) -> None:
        self.policy: Final = build_code_review_policy(settings)
        self._settings, self._asked = settings, asked
        self._root, self._environ = root, environ
        self._looking, self._paths = looking, paths
        self.of_plans: Final = self.opened if _reviews_plans(settings, kind) else None

    @cached_property
    def opened(self) -> RepositoryChanges:
        """Reads changes of the repository around the folder of the session; made where one is reviewed."""
        from quorum.infrastructure.changes.repository_changes import ApprovedChanges, RepositoryChanges

        state, rule = locate_state_folder(self._environ), self.policy
        lenses = sorted(f"{name} {lens.name}" for name, lens in rule.lenses.items())
        asked_of = "\n".join((*self._asked.participants, rule.rule.text, str(rule.min_votes), *lenses))
        return RepositoryChanges(
            self._root,
            self._environ,
            make_tools=choose_folder_tools(self._settings, self._looking),
            asked_of=hashlib.sha256(asked_of.encode()).hexdigest(),
            approved=ApprovedChanges(state / _APPROVED) if state is not None else None,
            mask=self._looking.mask,
            paths=self._paths,
        )

    def build_final_review(self, turn: TurnParts, panel: Panel) -> FinalReviewStep | None:
        """The reviews of what plans led to; None where there are none."""
        if (changes := self.of_plans) is None:
            return None

        def open_review(change: Change) -> CodeReview:
            from quorum.application.panel.code_review import CodeReview

            source = ReadChange()
            source.attach(changes)
            source.hold(change)
            return CodeReview(
                panel,
                moderator=self._asked.moderator,
                models=self._settings.models.review,
                events=turn.events,
                source=source,
                policy=self.policy,
            )

        return FinalReviewStep(
            events=turn.events, dialogue=turn.dialogue, changes=changes, open_review=open_review
        )


def _reviews_plans(settings: Settings, kind: SessionKind) -> bool:
    if not settings.agent.final_review or kind is not SessionKind.AGENT:
        return False
    if not settings.models.review:
        raise ConfigError(
            "agent.final_review = true has nobody who could review: models.review is empty; name models in it, "
            "or set final_review = false"
        )
    return True
