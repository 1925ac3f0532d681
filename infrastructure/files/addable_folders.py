"""Which folders may be added to a workspace: none that would open more than its own files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import PathPolicy, is_git_folder_name
from quorum.domain.text.paths import is_below_any
from quorum.infrastructure.files.workspace import escape_path


class AddableFolders:
    """Implements `FolderCheck` for the workspace of a policy. `homes` are the home folders of the person.

    `explain_bound` says why an administrator keeps commands from writing in a canonical folder, a clause.
    """

    def __init__(
        self,
        policy: PathPolicy,
        homes: Iterable[str],
        explain_bound: Callable[[str], str | None] = lambda _folder: None,
    ) -> None:
        self._policy = policy
        self._explain_bound = explain_bound
        self._homes = tuple(map(os.path.realpath, homes))
        self._everywhere = PathPolicy(
            roots=(),
            own=policy.own,
            code=policy.code,
            protected=policy.protected,
            sensitive=policy.sensitive,
        )

    def resolve(self, path: str) -> str:
        """The folder that a path leads to, links resolved; from the working directory on, `~` expanded. Raises
        ConfigError with the reason and what to do."""
        named = escape_path(path)
        if not path.strip() or "\0" in path:
            raise ConfigError("name the folder to add, for example ../library")
        try:
            folder = os.path.realpath(os.path.join(self._policy.roots[0], self._expand_home(path)), strict=True)
            folder.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"{named} has a name that is no text: give it another name to add it") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise ConfigError(f"{named} cannot be added: {reason}; name a folder that exists") from error
        shown = named if folder == path else f"{named} (it leads to {escape_path(folder)})"
        if not os.path.isdir(folder):
            raise ConfigError(f"{shown} is not a folder: add the folder that it lies in")
        if not folder.isprintable():
            raise ConfigError(
                f"{shown} has a name with characters that cannot be shown: give it another name to add it"
            )
        if not is_below_any(folder, self._policy.roots) and (why := self._explain_refusal(folder)) is not None:
            raise ConfigError(f"{shown} cannot be added: {why}")
        return folder

    def _expand_home(self, path: str) -> str:
        if self._homes and (path == "~" or path.startswith("~/")):
            return self._homes[0] + path[1:]
        return path

    def _explain_refusal(self, folder: str) -> str | None:
        if folder == "/":
            return "it is the whole file system; name a folder in it"
        if any(is_below_any(home, (folder,)) for home in self._homes):
            return "it is your home folder, or holds it; name a folder in it"
        if is_below_any(self._policy.roots[0], (folder,)):
            return (
                "it holds the working directory; start quorum there instead, or name the folder beside it that "
                "is needed"
            )
        if any(map(is_git_folder_name, folder.split("/"))):
            return "it is a repository's own .git folder, or in one; add the folder around it"
        if any(is_below_any(folder, (own,)) or is_below_any(own, (folder,)) for own in self._policy.own):
            return "quorum keeps files of its own there"
        if self._everywhere.is_sensitive(folder) or self._everywhere.is_protected(folder):
            return "it is a sensitive or protected path, of which each file is asked about"
        if not os.access(folder, os.R_OK | os.X_OK):
            return "you may not read it; change its permissions first"
        return self._explain_bound(folder)
