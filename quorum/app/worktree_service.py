"""The worktrees of a repository, and which sessions work in them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from quorum.application.ports.storage import SessionArchive
from quorum.domain.errors import WorktreeRefused
from quorum.domain.sessions.trust import Standing
from quorum.domain.text.printable import make_printable
from quorum.domain.worktree import (
    LinksProposal,
    OpenedWorktree,
    Worktree,
    WorktreeChange,
    WorktreeLoss,
    WorktreeSetup,
)
from quorum.infrastructure.config.config_file import ConfigFile, ConfigFileEdit
from quorum.infrastructure.config.loading import DEFAULT_ORIGIN, LoadedSettings
from quorum.infrastructure.config.paths import locate_worktrees
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import KeyPath
from quorum.infrastructure.git_worktrees import FolderLinks, GitWorktrees
from quorum.infrastructure.storage import build_path_policy
from quorum.infrastructure.trust_decisions import TrustDecisions

_MOST_NAMED = 3
_LINKS: KeyPath = ("worktrees", "links")
_OFFER: KeyPath = ("worktrees", "offer_links")


class WorktreeService:
    """Implements `WorktreesPort` for the repository around `folder`. `root` is the folder of the process."""

    def __init__(
        self,
        folder: Path,
        *,
        root: Path,
        environ: Mapping[str, str],
        open_archive: Callable[[], Awaitable[SessionArchive]],
        load: Callable[[Path], LoadedSettings],
        open_own_file: Callable[[LoadedSettings], ConfigFile],
    ) -> None:
        """`load` reads the settings of a folder as far as they are trusted, and asks nobody. `open_own_file`
        raises ConfigError where the person has no file of settings."""
        self._load, self._open_own_file = load, open_own_file
        self._seen: dict[LinksProposal, ConfigFileEdit] = {}
        self._folder, self._root, self._environ = folder, root, environ
        self._open_archive = open_archive

    async def open(self, name: str) -> OpenedWorktree:
        """The worktree of this name, or a new one. Raises WorktreeRefused."""
        return await asyncio.to_thread(lambda: self._open_repository().open(name))

    async def propose_links(self, opened: OpenedWorktree) -> LinksProposal | None:
        """What would link the installed folders that a new worktree lacks. None where there is none, or where
        the settings say already what it gets: it is for the person's own alone, which need no trust. Raises
        WorktreeRefused and ConfigError."""
        return await asyncio.to_thread(self._propose_links, opened)

    def _propose_links(self, opened: OpenedWorktree) -> LinksProposal | None:
        loaded = self._load(self._folder)
        table = loaded.settings.worktrees
        is_decided = bool(table.setup) or not table.offer_links or not self._has_own_links(loaded)
        is_waiting = loaded.standing not in (None, Standing.TRUSTED)
        if not opened.is_checked_out or is_decided or is_waiting or loaded.policy.explain_no_links():
            return None
        links = self._open_links(opened, loaded)
        folders = tuple(name for name in links.find_installed() if name not in table.links)
        if not folders:
            return None
        file = self._open_own_file(loaded)
        seen = file.preview({_LINKS: [*table.links, *folders]})
        proposal = LinksProposal(
            folders=folders,
            source=links.main,
            file=escape_path(file.path),
            is_new=not file.path.exists(),
            lines=seen.changed_lines,
        )
        self._seen[proposal] = seen
        return proposal

    def _has_own_links(self, loaded: LoadedSettings) -> bool:
        """Whether which links there are is said in the person's own settings alone, or not at all."""
        user = loaded.locations.user
        return loaded.origins["worktrees.links"] in (DEFAULT_ORIGIN, str(user), str(loaded.locations.named))

    async def answer_links(self, proposal: LinksProposal, *, accepts: bool) -> None:
        """Write what was proposed, or that it is not to be offered any more. Raises ConfigError."""
        await asyncio.to_thread(self._answer_links, proposal, accepts)

    def _answer_links(self, proposal: LinksProposal, accepts: bool) -> None:
        loaded = self._load(self._folder)
        file = self._open_own_file(loaded)
        if accepts:
            wanted = [*loaded.settings.worktrees.links, *proposal.folders]
            file.set_all({_LINKS: wanted}, seen=self._seen[proposal])
        else:
            file.set(_OFFER, False)

    def _open_links(self, opened: OpenedWorktree, loaded: LoadedSettings) -> FolderLinks:
        top = Path(os.path.realpath(opened.worktree.folder))
        return FolderLinks(opened.worktree.folder, self._environ, build_path_policy(loaded.settings, [top]))

    async def set_up(self, opened: OpenedWorktree) -> WorktreeSetup:
        """Link in a worktree what the settings of its folder name, which are in force as far as they are
        trusted; without any, say what is missing. Raises WorktreeRefused and ConfigError."""
        return await asyncio.to_thread(self._set_up, opened)

    def _set_up(self, opened: OpenedWorktree) -> WorktreeSetup:
        loaded = self._load(opened.folder)
        table, links = loaded.settings.worktrees, self._open_links(opened, loaded)
        if table.links and (why := loaded.policy.explain_no_links()) is not None:
            notices: tuple[str, ...] = (f"{', '.join(table.links)} not linked: {why}",)
        else:
            # The person's own settings are for all repositories, and not each has what they name.
            is_own = self._has_own_links(loaded)
            notices = tuple(links.make([name for name in table.links if not is_own or links.has_source(name)]))
        if not table.links and not table.setup and opened.is_checked_out:
            notices = tuple(filter(None, [links.describe_missing()]))
        return WorktreeSetup(notices=notices, command=table.setup if opened.is_checked_out else "")

    async def list(self) -> tuple[tuple[Worktree, WorktreeLoss], ...]:
        """Each worktree with what is in it alone. Raises WorktreeRefused."""

        def survey() -> tuple[tuple[Worktree, WorktreeLoss], ...]:
            git = self._open_repository()
            return tuple((each, git.find_loss(each)) for each in git.list())

        return await asyncio.to_thread(survey)

    async def find(self, name: str) -> Worktree:
        """The worktree of this name; without one that in which the folder lies. Raises WorktreeRefused."""

        def look() -> Worktree:
            git = self._open_repository()
            named = next((each for each in git.list() if each.name == name), None)
            if (found := named if name else git.find(self._folder)) is not None:
                return found
            if name:
                raise WorktreeRefused(
                    f"there is no worktree {make_printable(name)}; /worktree lists those there are"
                )
            raise WorktreeRefused("this tab works in no worktree; name one, or go to its tab")

        return await asyncio.to_thread(look)

    async def read_change(self, worktree: Worktree) -> WorktreeChange:
        """What a merge would bring. Raises WorktreeRefused."""
        return await asyncio.to_thread(lambda: self._open_repository().read_change(worktree))

    async def merge(self, change: WorktreeChange, message: str) -> None:
        """Merge it, if it is as it was shown. Raises WorktreeRefused."""
        await self._check_unused(change.worktree)
        await asyncio.to_thread(lambda: self._open_repository().merge(change, message))

    async def find_loss(self, worktree: Worktree) -> WorktreeLoss:
        """What would be lost if it were dropped now. Raises WorktreeRefused, also while it is worked in."""
        await self._check_unused(worktree)
        return await asyncio.to_thread(lambda: self._open_repository().find_loss(worktree))

    async def drop(self, worktree: Worktree, loss: WorktreeLoss) -> None:
        """Remove it with its branch, if no more is lost with it than that. Raises WorktreeRefused."""
        await self._check_unused(worktree)
        await asyncio.to_thread(lambda: self._open_repository(self._root).drop(worktree, loss))

    async def find_session_folder(self, session_id: str) -> Path | None:
        """The folder in which a session continues: its worktree, or the folder of the process.

        None where it was begun in another folder, or its worktree is gone. Raises LedgerError for an id that no
        session has.
        """
        summary = await (await self._open_archive()).find(session_id)
        return await asyncio.to_thread(self._find_folder, summary.cwd)

    def _find_folder(self, begun: str) -> Path | None:
        if os.path.realpath(begun) == os.path.realpath(self._root):
            return self._root
        folder, places = Path(begun), locate_worktrees(self._environ)
        if places is None or not folder.is_relative_to(os.path.realpath(places)) or not folder.is_dir():
            return None
        try:
            return folder if self._open_repository(self._root).find(folder) is not None else None
        except WorktreeRefused:
            return None

    async def _check_unused(self, worktree: Worktree) -> None:
        """Raises WorktreeRefused where another process works in it."""
        for session in await (await self._open_archive()).list_sessions():
            is_elsewhere = session.open_in not in (None, os.getpid())
            if is_elsewhere and Path(session.cwd).is_relative_to(worktree.folder):
                raise WorktreeRefused(
                    f"{session.holder} works in the worktree {worktree.name}; end its session first"
                )

    def _open_repository(self, folder: Path | None = None) -> GitWorktrees:
        places = locate_worktrees(self._environ)
        if places is None:
            raise WorktreeRefused("there is no home folder to keep worktrees in; set HOME or XDG_DATA_HOME")
        return GitWorktrees(folder or self._folder, self._environ, places)


def describe_worktrees(folder: Path, environ: Mapping[str, str]) -> str:
    """Which worktrees of the repository around `folder` there are; empty where there is none. Blocks."""
    places = locate_worktrees(environ)
    if places is None or folder.is_relative_to(os.path.realpath(places)):
        return ""
    try:
        names = [each.name for each in GitWorktrees(folder, environ, places).list()]
    except WorktreeRefused:  # no repository, then
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    listed = ", ".join(names[:_MOST_NAMED]) + more
    return f"left behind: worktree {listed}; /worktree NAME continues there" if names else ""


def share_trust(folder: Path, decisions: TrustDecisions, environ: Mapping[str, str]) -> None:
    """Have what is trusted in a repository be trusted in the worktree around `folder`, if it is one that quorum
    made. Blocks."""
    places = locate_worktrees(environ)
    resolved = Path(os.path.realpath(folder))
    if places is None or not resolved.is_relative_to(os.path.realpath(places)):
        return
    try:
        git = GitWorktrees(resolved, environ, places)
        worktree, repository = git.find(resolved), git.find_repository()
    except WorktreeRefused:  # what is not certain is asked about
        return
    if worktree is not None and repository is not None:
        decisions.add_worktree(Path(worktree.folder), repository)
