"""The registers that text is deleted and yanked to and put from (`:help registers`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CLIPBOARD = "+*"
_BLACK_HOLE = "_"


@dataclass(frozen=True, slots=True)
class RegisterText:
    """A text of a register; `lines` where it is whole lines, then without the last line break."""

    text: str
    lines: bool = False


class Registers:
    """The unnamed register, `a`-`z`, `0`-`9`, `-`, and the clipboard, which others read and write."""

    def __init__(self, copy: Callable[[str], None], clipboard: Callable[[], str]) -> None:
        self._copy = copy
        self._clipboard = clipboard
        self._texts: dict[str, RegisterText] = {}
        self._last = "0"

    def get(self, name: str | None) -> RegisterText | None:
        """What a register holds; without a name, what was deleted or yanked last."""
        name = (self._last if name in (None, '"') else name).lower()
        if name in CLIPBOARD:
            text = self._clipboard()
            return RegisterText(text.removesuffix("\n"), text.endswith("\n")) if text else None
        return self._texts.get(name)

    def keep_yanked(self, piece: RegisterText, name: str | None) -> None:
        """Keep what was yanked: in the named register, else in 0."""
        self._keep(piece, "0" if name in (None, '"') else name)

    def keep_deleted(self, piece: RegisterText, name: str | None, *, large: bool) -> None:
        """Keep what was deleted.

        Lines, and what reaches over the end of one (`large`), move 1-9 on; less than that goes to `-`. A named
        register takes both.
        """
        if name == _BLACK_HOLE:
            return
        if name not in (None, '"'):
            self._keep(piece, name)
        if large:
            for number in range(9, 1, -1):
                if (before := self._texts.get(str(number - 1))) is not None:
                    self._texts[str(number)] = before
            self._texts["1"] = piece
        elif name in (None, '"'):
            self._texts["-"] = piece
        if name in (None, '"'):
            self._last = "1" if large else "-"

    def _keep(self, piece: RegisterText, name: str) -> None:
        if name == _BLACK_HOLE:
            return
        register = name.lower()
        if name in CLIPBOARD:
            self._copy(piece.text + "\n" * piece.lines)
        elif name.isupper() and (before := self._texts.get(register)) is not None:
            lines = before.lines or piece.lines
            self._texts[register] = RegisterText(before.text + "\n" * lines + piece.text, lines)
        else:
            self._texts[register] = piece
        self._last = register
