"""The grammar of plain requests: a prompt becomes calls, all of them or none."""

from __future__ import annotations

from typing import assert_never

from quorum.infrastructure.models.offline import editing, japanese, looking, running
from quorum.infrastructure.models.offline.requests import (
    MAX_REQUESTS,
    HelpWanted,
    Misread,
    NothingAsked,
    NotUnderstood,
    Reading,
    Request,
    Understood,
)
from quorum.infrastructure.models.offline.scanning import Scanner
from quorum.infrastructure.models.offline.vocabulary import Verb, begins_request, match_verb


def read_prompt(prompt: str) -> Reading:
    """What a prompt asks for. Total: any text has a reading, and a part not understood spoils the whole."""
    scanner = Scanner(prompt)
    requests: list[Request] = []
    scanner.skip_joints()
    while not scanner.at_end:
        here = scanner.pos
        if not requests and _asks_for_help(scanner):
            return HelpWanted()
        try:
            requests += _parse_next_requests(scanner)
        except Misread as misread:
            return NotUnderstood(_cut_clause(scanner, here), str(misread))
        if len(requests) > MAX_REQUESTS:
            hint = f"That is more than {MAX_REQUESTS} calls at once; ask in portions."
            return NotUnderstood(_cut_clause(scanner, here), hint)
        scanner.skip_joints()
    return Understood(tuple(requests)) if requests else NothingAsked()


def _cut_clause(scanner: Scanner, start: int) -> str:
    """The request that begins at `start`, as it was written."""
    verb = match_verb(scanner.text, start)
    scanner.pos = verb[2] if verb else start
    return scanner.text[start : scanner.find_clause_end()].strip()


def _asks_for_help(scanner: Scanner) -> bool:
    found = match_verb(scanner.text, scanner.pos)
    return found is not None and found[0] is Verb.HELP


def _parse_next_requests(scanner: Scanner) -> list[Request]:
    found = match_verb(scanner.text, scanner.pos)
    if found is None:
        if (spoken := japanese.parse_requests(scanner)) is not None:
            return spoken
        raise Misread(_explain_unknown(scanner))
    verb, phrase, scanner.pos = found
    match verb:
        case Verb.READ:
            return looking.read(scanner)
        case Verb.LIST:
            return looking.list_folders(scanner)
        case Verb.FIND | Verb.GREP | Verb.GLOB:
            return looking.find(scanner, verb)
        case Verb.REPLACE:
            return editing.replace(scanner, phrase)
        case Verb.WRITE:
            return editing.write(scanner)
        case Verb.RUN:
            return running.run(scanner)
        case Verb.PLAN:
            return running.plan(scanner)
        case Verb.HELP:
            raise Misread("Ask for help on its own.")
        case _:
            assert_never(verb)


def _explain_unknown(scanner: Scanner) -> str:
    if begins_request(scanner.text, scanner.pos):
        return "That takes a model; if it belongs to a command or a text, put that in backticks or quotes."
    return "No request begins like that; a name with spaces, or without a dot or slash, needs quotes."
