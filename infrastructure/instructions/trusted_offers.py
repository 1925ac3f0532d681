"""What the model may choose by its name, skills and agents: found in files, trusted by their content."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from quorum.application.ports.people import Approver
from quorum.domain.instructions.offer_list import Offered, select_by_name
from quorum.domain.sessions.trust import TrustContent, TrustItem
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import resolve_trusted_place
from quorum.infrastructure.trust.decisions import TrustDecisions

SUMMARY_LENGTH = 140  # characters of a description that stand in a summary of many
_MOST_NAMED = 50
_MOST_SENTENCES = 3


class OfferInFiles(Offered, Protocol):
    """An offer as it was read; `problem` says why it cannot be used."""

    @property
    def problem(self) -> str:
        """Empty where it can be used."""
        ...


_Offer = TypeVar("_Offer", bound=OfferInFiles)


@dataclass(frozen=True, slots=True)
class OfferKind(Generic[_Offer]):
    """One kind: its `noun`, the path that is trusted for one of them, and what the person is shown of it."""

    noun: str
    get_path: Callable[[_Offer], str]
    describe: Callable[[_Offer], TrustContent]

    def locate(self, offer: _Offer) -> Path:
        """Where it lies, as decisions remember it."""
        return resolve_trusted_place(Path(self.get_path(offer)))

    def list_wanted(self, offers: Iterable[_Offer]) -> dict[Path, TrustContent]:
        """For each that can be used its place, and what it holds.

        The person's own are among them: most were written by somebody else.
        """
        return {self.locate(each): self.describe(each) for each in offers if not each.problem}


class TrustedOffers(Generic[_Offer]):
    """Those of one kind in a session. `find` blocks; it gives all that there are now.

    `trusted` are those of the present turn, with the content that they had when it began.
    """

    def __init__(
        self,
        kind: OfferKind[_Offer],
        find: Callable[[], Sequence[_Offer]],
        *,
        project: Path,
        decisions: TrustDecisions,
        approver: Approver,
        cwd: Path,
    ) -> None:
        self._kind = kind
        self._find = find
        self._project = project
        self._decisions = decisions
        self._approver = approver
        self._cwd = cwd
        self.trusted: tuple[_Offer, ...] = ()

    @property
    def names(self) -> str:
        """The names of the trusted ones as a sentence needs them, as many as fit."""
        return ", ".join(each.name for each in self.trusted[:_MOST_NAMED]) or "none"

    def get_trusted(self, name: str) -> _Offer | None:
        return next((each for each in self.trusted if each.name == name), None)

    async def refresh(self) -> list[str]:
        """Renew `trusted`, one of each name, once the person was asked about the others. Sentences about what
        cannot be used."""
        found = await asyncio.to_thread(self._find)
        notices = [f"the {self._kind.noun} in {each.problem}" for each in found if each.problem]
        usable = select_by_name([each for each in found if not each.problem])
        untrusted, problems = await self._decisions.settle(
            self._kind.list_wanted(usable), self._project, self._approver
        )
        notices += [*problems, *self._list_untrusted(untrusted)]
        self.trusted = self._without(usable, untrusted)
        return notices

    async def survey(self) -> tuple[tuple[_Offer, bool], ...]:
        """All that there are now, one of each name, each with whether the person trusts it as it is. Nobody is
        asked."""
        return await asyncio.to_thread(self._survey)

    def _survey(self) -> tuple[tuple[_Offer, bool], ...]:
        found = select_by_name(self._find())
        untrusted = self._decisions.list_untrusted(self._kind.list_wanted(found))
        trusted = {each.name for each in self._without(found, untrusted)}
        return tuple((each, not each.problem and each.name in trusted) for each in found)

    def _without(self, offers: Sequence[_Offer], untrusted: Sequence[TrustItem]) -> tuple[_Offer, ...]:
        places = {item.file for item in untrusted}
        return tuple(each for each in offers if str(self._kind.locate(each)) not in places)

    def _list_untrusted(self, items: Sequence[TrustItem]) -> list[str]:
        folder = shlex.quote(make_printable(str(self._cwd), newlines=False))
        if len(items) > _MOST_SENTENCES:
            names = (Path(item.file).name.removesuffix(".md") for item in items)
            return [
                f"{len(items)} {self._kind.noun}s are not trusted as they are, so they are not offered: "
                f"{', '.join(make_printable(name, newlines=False) for name in names)}; "
                f"to look at them and trust them: quorum -C {folder} config trust"
            ]
        return [
            f"the {self._kind.noun} {make_printable(item.file)} "
            f"{'has changed since you trusted it' if item.changed else 'is not trusted'}, so it is not "
            f"offered; to look at it and trust it: quorum -C {folder} config trust"
            for item in items
        ]
