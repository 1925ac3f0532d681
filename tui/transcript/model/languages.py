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
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(language)
