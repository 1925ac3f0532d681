"""The settings `[worktrees]`: what a worktree gets of what git ignores."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.domain.worktree import explain_unfit_link
from quorum.infrastructure.config.about import About, ProjectRule

_MOST = 20


def _find_flaw(links: object) -> str | None:
    given = links if isinstance(links, list | tuple) else ()
    if len(given) > _MOST:
        return f"{len(given):,} links are too many; name {_MOST} at most"
    return next((flaw for link in given if (flaw := explain_unfit_link(str(link))) is not None), None)


class WorktreesTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "What `/worktree NAME` gives a worktree of what git ignores."

    links: Annotated[
        tuple[str, ...],
        About(
            description="Folders that git ignores, from the top of the repository, for example "
            '[".venv", "node_modules"]. Each becomes a link to that of the main working tree; commands in the '
            "sandbox may read it there: docs/worktrees.md.",
            project=ProjectRule.NEVER,
            flaw=_find_flaw,
        ),
    ] = ()
    setup: Annotated[
        str,
        Meta(max_length=4000),
        About(
            description="A shell command that prepares a new worktree, for example make setup. It is reviewed "
            "and runs in the sandbox like the commands of a model.",
            project=ProjectRule.NEVER,
        ),
    ] = ""
