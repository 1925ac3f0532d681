"""What the person trusts, from earlier runs and in this one; nobody is asked twice about the same content."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import Standing, TrustContent, TrustItem, TrustQuestion
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.trust.trust_file import TrustedFiles, TrustFile, find_original, open_trust_file


class TrustDecisions:
    """The decisions of one run, shared by its sessions. `file` remembers them beyond it, where there is one."""

    def __init__(self, file: TrustFile | None) -> None:
        self._file = file
        self._accepted: dict[str, str] = {}
        self._refused: set[tuple[str, str]] = set()
        self._worktrees: dict[Path, Path] = {}

    def add_worktree(self, folder: Path, repository: Path) -> None:
        """What was decided about files of a repository holds for the same ones in this worktree of it. Both
        paths are resolved, and the worktree is one that quorum made."""
        self._worktrees[folder] = repository

    def load_trusted(self) -> TrustedFiles:
        """All that is trusted now. Blocks."""
        loaded = self._file.load() if self._file is not None else TrustedFiles()
        return TrustedFiles({**loaded.digests, **self._accepted}, loaded.warning, self._worktrees)

    def list_untrusted(self, wanted: Mapping[Path, TrustContent]) -> tuple[TrustItem, ...]:
        """Of these contents, by their places, those that are not trusted. Blocks."""
        trusted = self.load_trusted()
        standings = {place: trusted.find_standing(place, content.digest) for place, content in wanted.items()}
        return tuple(
            TrustItem(
                file=str(place),
                digest=content.digest,
                wants=content.wants,
                changed=standings[place] is Standing.CHANGED,
                text=content.text,
            )
            for place, content in wanted.items()
            if standings[place] is not Standing.TRUSTED
        )

    async def settle(
        self, wanted: Mapping[Path, TrustContent], folder: Path, person: Approver
    ) -> tuple[tuple[TrustItem, ...], list[str]]:
        """Ask about those of these contents that are not trusted, below `folder`. What stays untrusted, and
        sentences about what could not be remembered."""
        items = await asyncio.to_thread(self.list_untrusted, wanted)
        question = TrustQuestion(folder=str(folder), items=items)
        if not items or not await self.ask(question, person):
            return items, []
        problem = await self.accept(question)
        return (), [] if problem is None else [problem]

    async def ask(self, question: TrustQuestion, person: Approver) -> bool:
        """The person's answer, which holds for this run; who said "not now" is not asked about it again."""
        contents = {
            (str(find_original(Path(file), self._worktrees)), digest)
            for file, digest in _list_contents(question).items()
        }
        if contents <= self._refused:
            return False
        if await person.ask(await asyncio.to_thread(self.recall, question)) is not True:
            self._refused |= contents
            return False
        return True

    def recall(self, question: TrustQuestion) -> TrustQuestion:
        """The same question, with the lines that files which changed had when they were trusted. Blocks."""
        if self._file is None or not any(item.changed for item in question.items):
            return question
        former = self._file.recall([item.file for item in question.items if item.changed])
        return replace(
            question, items=tuple(replace(item, former=former.get(item.file)) for item in question.items)
        )

    def with_answer(self, question: TrustQuestion) -> TrustDecisions:
        """The same as if the answer to this question were yes; nothing is remembered."""
        answered = TrustDecisions(self._file)
        answered._accepted = {**self._accepted, **_list_contents(question)}
        answered._worktrees = self._worktrees
        return answered

    async def accept(self, question: TrustQuestion) -> str | None:
        """Trust all of it from now on; a sentence where that could not be remembered beyond this run."""
        self._accepted |= _list_contents(question)
        try:
            if self._file is None:
                raise ConfigError("there is no home folder to remember it in; set HOME or XDG_STATE_HOME")
            await self._file.trust(question)
        except ConfigError as error:
            files = ", ".join(make_printable(item.file) for item in question.items)
            verb = "is" if len(question.items) == 1 else "are"
            return f"{files} {verb} trusted in this session only: {error}"
        return None


def _list_contents(question: TrustQuestion) -> dict[str, str]:
    return {item.file: item.digest for item in question.items}


def open_trust_decisions(environ: Mapping[str, str]) -> TrustDecisions:
    """Those of a run that begins."""
    return TrustDecisions(open_trust_file(environ))
