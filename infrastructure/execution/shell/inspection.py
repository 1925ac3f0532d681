"""The parts of one command line, gone through in order: what each reads and writes, what speaks against it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, partial

from domain.review.path_policy import PathPolicy
from domain.shell.command_line import Redirect, SimpleCommand
from domain.shell.command_spec import NotReadOnly, PathUse, Reading, use_of
from domain.shell.git_commands import GitUse, git_use
from domain.shell.read_only_commands import READ_ONLY_COMMANDS
from infrastructure.execution.shell.git_secrets import settings_that_sign_in
from infrastructure.execution.shell.places import Places
from infrastructure.execution.shell.programs import SystemPrograms
from infrastructure.execution.shell.reach import OutOfReach, Reach
from infrastructure.execution.shell.repository import (
    Repository,
    UnsafeRepository,
    find_repository,
    named_folders,
)
from infrastructure.files.sensitivity import Sensitivity
from infrastructure.files.workspace import Location, shown


class Inspection:
    """One command line that starts in a folder. `read` and `written` are the paths met so far."""

    def __init__(self, folder: str, policy: PathPolicy, programs: SystemPrograms) -> None:
        self.read: list[str] = []
        self.written: list[str] = []
        self._places = Places(folder)
        self._policy = policy
        self._programs = programs
        self._reach = Reach(policy)
        self._repository_of = cache(find_repository)
        self._tracked_by = cache(Repository.tracked)
        self._require_own_state = cache(Repository.require_own_state)

    def objection(self, command: SimpleCommand) -> str | None:
        """Why a command is not known only to read what may be read; None where it is."""
        self._places.reach(command)
        # The shell opens what is redirected before it runs the command, which may be `cd`.
        folders = self._places.now
        steps = [
            partial(self._inspect_words, command.words),
            *(partial(self._inspect_redirect, redirect, folders) for redirect in command.redirects),
        ]
        objections = [_objection_to(step) for step in steps]
        return next((objection for objection in objections if objection is not None), None)

    def _inspect_words(self, words: Sequence[str]) -> None:
        name, rest = words[0], words[1:]
        if name == "cd":
            self._enter(rest)
        elif name == "git":
            git = git_use(rest)
            self._programs.require(name)
            for folder in self._places.now:
                self._inspect_git(git, folder, named_folders(rest))
        elif (spec := READ_ONLY_COMMANDS.get(name)) is not None:
            use = use_of(spec, name, rest)
            self._programs.require(name)
            for path in use.paths:
                self._see(path)
        else:
            raise NotReadOnly(f"{shown(name)} is not known only to read")

    def _inspect_redirect(self, redirect: Redirect, folders: Sequence[str]) -> None:
        if redirect.is_harmless:
            return
        if redirect.only_reads:
            for folder in folders:
                self._see_from(folder, PathUse(redirect.target, Reading.FILE))
            return
        paths = [os.path.realpath(os.path.join(folder, redirect.target)) for folder in folders]
        self.written.extend(paths)
        raise NotReadOnly(f"it writes {shown(paths[-1])}")

    def _see(self, use: PathUse) -> None:
        for folder in self._places.now:
            self._see_from(folder, use)

    def _see_from(self, folder: str, use: PathUse) -> str:
        try:
            path = self._reach.require_readable(use, folder)
        except OutOfReach as objection:
            self.read.append(objection.path)
            raise
        self.read.append(path)
        return path

    def _enter(self, words: Sequence[str]) -> None:
        if len(words) != 1 or words[0].startswith("-") or ".." in words[0].split("/"):
            raise NotReadOnly("cd is known only with the name of a folder, without ..")
        entered = []
        for folder in self._places.now:
            path = os.path.normpath(os.path.join(folder, words[0]))
            # The shell keeps the name by which it came, programs see where it is: both must be one.
            if self._see_from(folder, PathUse(words[0], Reading.NAMES)) != path:
                raise NotReadOnly(f"cd {shown(words[0])} goes through a symbolic link")
            entered.append(path)
        self._places.enter(entered)

    def _inspect_git(self, git: GitUse, folder: str, named: frozenset[str]) -> None:
        for step in git.folders:
            folder = self._see_from(folder, PathUse(step, Reading.NAMES))
        repository = self._repository_of(folder)
        paths = [self._see_from(folder, path) for path in git.use.paths]
        if repository is not None:
            self._require_own_state(repository, named)
            self._require_harmless(git, repository)
        if git.shows_contents and any(not _is_within(path, repository) for path in paths or [folder]):
            raise NotReadOnly("git would read files outside a repository")

    def _require_harmless(self, git: GitUse, repository: Repository) -> None:
        top = repository.top
        if git.shows_addresses and (settings := settings_that_sign_in(repository)) is not None:
            raise NotReadOnly(f"git may show a token, which may stand in {shown(settings)}")
        if not (git.looks_at_files or git.shows_contents):
            return
        tracked = self._tracked_by(repository)
        if git.looks_at_files and tracked.submodules:
            place = shown(os.path.join(top, tracked.submodules[0]))
            raise UnsafeRepository(f"git would enter the submodule {place}, whose settings may run programs")
        if not git.shows_contents:
            return
        if not self._policy.is_inside(top):
            raise OutOfReach(f"git would show files of {shown(top)}, outside the workspace", top)
        if self._policy.is_sensitive(top):
            raise OutOfReach(f"git may show {shown(top)}, which is sensitive", top)
        repository.require_no_linked_folders(tracked.files)
        sensitivity = Sensitivity(self._policy, Location(top, (), top))
        for file in tracked.files:
            if sensitivity.covers(tuple(file.split("/"))):
                path = os.path.join(top, file)
                raise OutOfReach(f"git may show {shown(path)}, which is sensitive", path)


def _is_within(path: str, repository: Repository | None) -> bool:
    return repository is not None and PathPolicy(roots=(repository.top,)).is_inside(path)


def _objection_to(step: Callable[[], None]) -> str | None:
    try:
        step()
    except (NotReadOnly, OutOfReach, UnsafeRepository) as objection:
        return str(objection)
    except (OSError, ValueError) as error:
        # What cannot be looked into cannot be vouched for.
        return f"it cannot be looked into: {error}"
    return None
