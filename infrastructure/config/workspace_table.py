"""The settings `[workspace]`: what belongs to the workspace beside the working directory."""

from typing import Annotated

from msgspec import Struct

from quorum.infrastructure.config.about import About, ProjectRule

_MOST = 50


def _find_flaw(folders: object) -> str | None:
    given = folders if isinstance(folders, list | tuple) else ()
    if len(given) > _MOST:
        return f"{len(given):,} folders are too many; name {_MOST} at most"
    if not all(str(folder).strip() for folder in given):
        return "the path of a folder is empty; name one, for example ~/library"
    return None


class WorkspaceTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    "Which folders belong to the workspace."

    directories: Annotated[
        tuple[str, ...],
        About(
            description="Folders that belong to the workspace of every session beside its working directory: "
            "read, written and searched like that. A folder that is missing is left out with a warning. For "
            "one session: --add-dir and /add-dir (docs/folders.md).",
            project=ProjectRule.OWN,
            flaw=_find_flaw,
        ),
    ] = ()
