"""What Python is started with: the code, the module or the file that it runs, and whether its input is code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

_TAKE_VALUES = "XW"  # python(1) 3.13; as those of -c and -m, what follows in the word is the value
_TAKE_WORDS = frozenset({"--check-hash-based-pycs"})
_INPUT = re.compile(r"-|/dev/(?:stdin|fd/[0-9]+)|/proc/[^/]+/fd/[0-9]+")
# Modules that run what is typed into them, or look at it while it runs.
_INTERPRETERS = frozenset(
    {
        *("code", "asyncio", "pdb", "idlelib", "idlelib.idle", "sqlite3", "IPython", "ptpython", "ptipython"),
        *("bpython", "bpdb", "ipdb", "pudb", "xonsh", "konch", "jupyter_console", "hy", "coconut"),
    }
)
# Modules that take a file for data, also where it is their input.
_READERS = frozenset(
    {
        *("json.tool", "json", "base64", "quopri", "gzip", "tokenize", "ast", "tabnanny", "html2text"),
        *("black", "isort", "ruff", "flake8", "yamllint", "pygments", "markdown", "rich.json", "rich.markdown"),
    }
)


class PythonWords(Struct, frozen=True):
    """The arguments of Python apart. `words` stand behind the code or the module; without both, the first of
    them is the file that it runs."""

    code: str | None
    module: str
    words: tuple[str, ...]
    is_interactive: bool

    @property
    def takes_code(self) -> bool:
        """Whether what comes in by its input is run, and not only data of what it runs."""
        if self.is_interactive:
            return True
        if self.code is not None:
            return False
        if self.module:
            names_input = any(map(_INPUT.fullmatch, self.words))
            return self.module in _INTERPRETERS or (names_input and self.module not in _READERS)
        return not self.words or _INPUT.fullmatch(self.words[0]) is not None


def read_python_words(arguments: Sequence[str]) -> PythonWords:
    is_interactive, place = False, 0
    while place < len(arguments):
        word, place = arguments[place], place + 1
        if word in _TAKE_WORDS:
            place += 1
        elif word == "--":
            break
        elif word == "-" or not word.startswith("-"):
            place -= 1
            break
        elif not word.startswith("--"):
            letters = iter(word[1:])
            for letter in letters:
                is_interactive = is_interactive or letter == "i"
                if letter not in "cm" + _TAKE_VALUES:
                    continue
                value = "".join(letters)
                if not value:
                    value, place = "".join(arguments[place : place + 1]), place + 1
                if letter in "cm":
                    code, module = (value, "") if letter == "c" else (None, value)
                    return PythonWords(code, module, tuple(arguments[place:]), is_interactive)
    return PythonWords(None, "", tuple(arguments[place:]), is_interactive)
