"""What clients of databases that are files do with these and with others, by the statements that they get."""

from __future__ import annotations

import re

from quorum.domain.review.effects.program_effects import UsedProgram
from quorum.domain.review.effects.side_effect import DataKind, Datum

_ONLY_SHOWS = re.compile(
    r"(?i)\s*(?:select\b[^;]*;?\s*"
    r"|\.(?:dump|schema|tables|headers?|mode|output|once|backup|save|clone|separator|width)\b[^\n]*|)\Z"
)
_COPIES = re.compile(
    r"(?im)^[ \t]*(?:\.(?:backup|save)\s+(?:--?\S+\s+)*(?:(?:main|temp)\s+)?|\.clone\s+"
    r"|vacuum\s+(?:\w+\s+)?into\s+)([^\s;]+)"
)
_IMPORTS = re.compile(r"(?im)^[ \t]*\.import\s+(?:--?\S+(?:\s+\d+)?\s+)*([^\s|-]\S*)")
_PRINTS_INTO = re.compile(r"(?im)^[ \t]*\.(?:output|once)\s+(?:-\S+\s+)*([^\s|-]\S*)")


def only_shows(statements: str) -> bool:
    """Whether statements change nothing in the database."""
    return all(map(_ONLY_SHOWS.match, statements.splitlines()))


def write_database(used: UsedProgram) -> None:
    """Take what is written: the database unless all is only shown, its copies, files of what is shown."""
    if not used.operands:
        return
    database, statements = used.operands[0], (*used.words.operands[1:], used.run.text or "")
    reducer = used.scope.reducer
    redirects = any(each.operator == "<" for each in used.run.redirects)
    is_fed_unseen = used.run.text is None and (redirects or bool(used.piped))
    changes = is_fed_unseen or not all(map(only_shows, statements))
    if changes and database != ":memory:":
        reducer.write_file(database, frozenset())
    for path in (each for text in statements for each in _IMPORTS.findall(text)):
        used.read(path.strip("'\""))
    for path in (each for text in statements for each in _COPIES.findall(text)):
        reducer.write_file(path.strip("'\""), frozenset({Datum(DataKind.FILE, database)}))
    for path in (each for text in statements for each in _PRINTS_INTO.findall(text)):
        if path.strip("'\"") not in ("stdout", "off"):
            reducer.write_file(path.strip("'\""), frozenset({Datum(DataKind.FILE, database)}))
