"""Opens what a session needs to review changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.panel.panel import Panel
from quorum.application.ports.workspace import OpenTools
from quorum.application.turn.run_agent import FinalReviewStep, TurnParts
from quorum.domain.code_review.change import Change, CodeReviewPolicy
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.ballot import QuorumRule, parse_lens
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.changes.read_change import ReadChange
from quorum.infrastructure.changes.repository_changes import ApprovedChanges
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


def open_changes(
    root: Path,
    environ: Mapping[str, str],
    *,
    make_tools: Callable[[Path], OpenTools] | None,
    participants: Sequence[str] = (),
    policy: CodeReviewPolicy | None = None,
    mask: SecretMask | None = None,
    paths: PathPolicy | None = None,
) -> RepositoryChanges:
    """Reads changes of the repository that this folder lies in. Without `make_tools` reviewers have none."""
    from quorum.infrastructure.changes.repository_changes import RepositoryChanges

    state = locate_state_folder(environ)
    rule = policy or CodeReviewPolicy()
    lenses = sorted(f"{name} {lens.name}" for name, lens in rule.lenses.items())
    asked_of = "\n".join((*participants, rule.rule.text, str(rule.min_votes), *lenses))
    return RepositoryChanges(
        root,
        environ,
        make_tools=make_tools,
        asked_of=hashlib.sha256(asked_of.encode()).hexdigest(),
        approved=ApprovedChanges(state / _APPROVED) if state is not None else None,
        mask=mask,
        paths=paths,
    )


def choose_plan_changes(
    settings: Settings, kind: SessionKind, get_changes: Callable[[], RepositoryChanges]
) -> RepositoryChanges | None:
    """What reads the results of plans; None where they are not reviewed. Raises ConfigError where there is
    nobody who could review them."""
    if not settings.agent.final_review or kind is not SessionKind.AGENT:
        return None
    if not settings.models.review:
        raise ConfigError(
            "agent.final_review = true has nobody who could review: models.review is empty; name models in it, "
            "or set final_review = false"
        )
    return get_changes()


def build_final_review(
    changes: RepositoryChanges | None,
    turn: TurnParts,
    *,
    panel: Panel,
    moderator: str,
    reviewers: Sequence[str],
    policy: CodeReviewPolicy,
) -> FinalReviewStep | None:
    """The reviews of what plans led to; None where there are none."""
    if changes is None:
        return None

    def open_review(change: Change) -> CodeReview:
        from quorum.application.panel.code_review import CodeReview

        source = ReadChange()
        source.attach(changes)
        source.hold(change)
        return CodeReview(
            panel, moderator=moderator, models=reviewers, events=turn.events, source=source, policy=policy
        )

    return FinalReviewStep(events=turn.events, dialogue=turn.dialogue, changes=changes, open_review=open_review)
