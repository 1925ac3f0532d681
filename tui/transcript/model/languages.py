"""Which language a file is written in, and the lexer for it. Pygments is loaded with the first lexer."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# By the ends of names, and for the rest whole names. Asking Pygments would try some thousand patterns.
_LANGUAGES = {
    name: language
    for language, names in {
        "bash": ".sh .bash .zsh .bashrc .profile",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hpp .hh",
        "csharp": ".cs",
        "css": ".css",
        "docker": "Dockerfile",
        "go": ".go",
        "html": ".html .htm",
        "ini": ".ini .cfg .conf .editorconfig .gitconfig",
        "java": ".java",
        "javascript": ".js .mjs .cjs .jsx",
        "json": ".json",
        "kotlin": ".kt .kts",
        "lua": ".lua",
        "make": ".mk Makefile",
        "php": ".php",
        "python": ".py .pyi",
        "ruby": ".rb Gemfile Rakefile",
        "rust": ".rs",
        "scss": ".scss",
        "sql": ".sql",
        "swift": ".swift",
        "terraform": ".tf",
        "toml": ".toml",
        "typescript": ".ts .mts .cts .tsx",
        "xml": ".xml .svg",
        "yaml": ".yaml .yml",
    }.items()
    for name in names.split()
}


def guess_language(path: str) -> str | None:
    """The language of a file of that name; None where it is not known."""
    name = PurePosixPath(path)
    return _LANGUAGES.get(name.name) or _LANGUAGES.get(name.suffix.lower() or name.name.lower())


@cache
def get_lexer(language: str) -> Lexer:
    """The lexer of a language that `guess_language` returned."""
    lexer = find_lexer(language)
    assert lexer is not None, language
    return lexer()


def find_lexer(language: str) -> type[Lexer] | None:
    """The lexer of a language that goes by this word, in a fence for example; None where Pygments has none.

    Pygments itself would go on to look through all installed packages for lexers and import those it finds,
    for any word that a model writes behind a fence.
    """
    from pygments.lexers import find_lexer_class

    name = _list_names().get(language.lower())
    return None if name is None else find_lexer_class(name)


@cache
def _list_names() -> dict[str, str]:
    """The name of each lexer of Pygments by the words it goes by."""
    from pygments.lexers import get_all_lexers

    return {alias: name for name, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases}
