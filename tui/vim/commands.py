"""What keys mean in normal and visual mode: `["a][count]operator[count]motion`, and shorter commands."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.domain.replacing import replace
from quorum.tui.vim.motions import NAMES as OBJECT_NAMES

OPERATORS = frozenset({"d", "c", "y", "<", ">", "gu", "gU", "g~"})
MOTIONS = frozenset({*"hjklwWbBeE0^$GfFtT;,{}%", "gg"})
COMMANDS = frozenset({*"iaIAoOvVxXsSDCYpPJ~.ur", "ctrl+r"})
VISUAL_COMMANDS = frozenset({*"dxXcsSCDyYJ~uUrpPovV<>", "gu", "gU", "g~", "escape"})
REGISTERS = frozenset('"_-+*0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')
_TAKE_A_CHARACTER = frozenset("fFtTr")

# Keys of the terminal that mean a motion.
_SAME = {
    "left": "h",
    "right": "l",
    "up": "k",
    "down": "j",
    "backspace": "h",
    "space": "l",
    "home": "0",
    "end": "$",
    "delete": "x",
}


class NotACommandError(Exception):
    """These keys mean nothing here."""


@dataclass(frozen=True, slots=True)
class VimCommand:
    """One complete command.

    `name` is an operator, a motion or a command. `over` is what an operator acts on: a motion, the operator
    again for whole lines, or a text object such as `iw`. `char` is the one that `f F t T r` are about.
    """

    name: str
    register: str | None = None
    count: int | None = None
    over: str | None = None
    char: str = ""

    @property
    def times(self) -> int:
        """The count, 1 where none was given."""
        return self.count or 1


class _Keys:
    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys
        self._place = 0

    @property
    def present(self) -> str | None:
        """The key that comes next, if it was pressed already."""
        return self._keys[self._place] if self._place < len(self._keys) else None

    def pop(self) -> str:
        if (key := self.present) is None:
            raise _MoreKeys
        self._place += 1
        return key

    def take_count(self) -> int | None:
        digits = ""
        while (key := self.present) is not None and key in "0123456789" and (digits or key != "0"):
            digits += self.pop()
        return min(int(digits), _MOST) if digits else None

    def take_name(self) -> str:
        key = self.pop()
        key = _SAME.get(key, key)
        return key + self.pop() if key == "g" else key


class _MoreKeys(Exception):
    pass


_MOST = 10_000


def parse(keys: tuple[str, ...], *, visual: bool) -> VimCommand | None:
    """The command that these keys are; None while it needs more.

    Raises NotACommandError where no command begins with them.
    """
    reading = _Keys(keys)
    try:
        return _build_command(reading, visual=visual)
    except _MoreKeys:
        return None


def _build_command(keys: _Keys, *, visual: bool) -> VimCommand:
    count = keys.take_count()
    register = None
    if keys.present == '"':
        keys.pop()
        register = _find_one(keys.pop(), REGISTERS)
        count = _multiply_counts(count, keys.take_count())
    if visual and keys.present in ("i", "a"):
        return VimCommand("select", register, count, over=keys.pop() + _find_one(keys.pop(), OBJECT_NAMES))
    name = keys.take_name()
    if name in OPERATORS and not visual:
        count = _multiply_counts(count, keys.take_count())
        over, char = _parse_object(keys, name)
        return VimCommand(name, register, count, over, char)
    _find_one(name, MOTIONS | (VISUAL_COMMANDS if visual else COMMANDS))
    char = _read_character(keys) if name in _TAKE_A_CHARACTER else ""
    return VimCommand(name, register, count, char=char)


def _parse_object(keys: _Keys, operator: str) -> tuple[str, str]:
    """What an operator acts on, and the character where it is one of `f F t T`."""
    if keys.present in ("i", "a"):
        return keys.pop() + _find_one(keys.pop(), OBJECT_NAMES), ""
    if len(operator) == 2 and keys.present == operator[1]:  # guu is gugu
        keys.pop()
        return operator, ""
    name = keys.take_name()
    if name == operator:
        return operator, ""
    _find_one(name, MOTIONS)
    return name, _read_character(keys) if name in _TAKE_A_CHARACTER else ""


def _read_character(keys: _Keys) -> str:
    key = keys.pop()
    if key == "space":
        return " "
    if len(key) != 1:
        raise NotACommandError
    return key


def _find_one(name: str, names: frozenset[str]) -> str:
    if name not in names:
        raise NotACommandError
    return name


def _multiply_counts(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return first or second
    return min(first * second, _MOST)


_OVER_SELECTION = {
    "x": "d",
    "X": "d",
    "D": "d",
    "s": "c",
    "S": "c",
    "C": "c",
    "R": "c",
    "Y": "y",
    "~": "g~",
    "u": "gu",
    "U": "gU",
}


def expand_short_command(command: VimCommand) -> VimCommand:
    """The operator and motion that a short command stands for."""
    name, over = {
        "x": ("d", "l"),
        "X": ("d", "h"),
        "D": ("d", "$"),
        "s": ("c", "l"),
        "C": ("c", "$"),
        "S": ("c", "c"),
        "Y": ("y", "y"),
    }[command.name]
    return replace(command, name=name, over=over)


def name_over_selection(name: str) -> str:
    """What a command is called that a visual mode gives another key."""
    return _OVER_SELECTION.get(name, name)
