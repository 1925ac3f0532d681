"""What uses of programs do harm by their words alone, looked up in tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from quorum.domain.review.hazards.cloud_uses import CLOUD_USES
from quorum.domain.review.hazards.data_uses import DATA_USES
from quorum.domain.review.hazards.harmful_use import HarmfulUse
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.machine_uses import MACHINE_USES
from quorum.domain.review.hazards.system_uses import SYSTEM_USES
from quorum.domain.review.objection import Objection
from quorum.domain.review.plain_request import RequestTerms


class _Row(Struct, frozen=True):
    """A row of a table without its programs."""

    words: tuple[frozenset[str], ...]
    needed: re.Pattern[str]
    unless: re.Pattern[str]
    does: str
    guard: str
    request: RequestTerms | None


def _index_by_program(uses: Iterable[HarmfulUse]) -> dict[str, tuple[_Row, ...]]:
    rows: dict[str, tuple[_Row, ...]] = {}
    for use in uses:
        names, *words = (frozenset(word.split("|")) for word in use.program.split())
        row = _Row(
            tuple(words), re.compile(use.needed), re.compile(use.unless), use.does, use.guard, use.request
        )
        for name in names:
            rows[name] = (*rows.get(name, ()), row)
    return rows


_ROWS = _index_by_program((*DATA_USES, *MACHINE_USES))
_SYSTEM_ROWS = _index_by_program((*SYSTEM_USES, *CLOUD_USES))
_VERSIONED = re.compile(r"(mkfs|python|pip)[.0-9][a-z0-9.]*")
_CONTAINERS = frozenset({"-H", "--host", "--context", "-c", "--config", "-l", "--log-level"})
_COMPOSE = frozenset({"-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"})
_LEADING_VALUES = {
    "git": frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster"}),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _CONTAINERS),
    **dict.fromkeys(("docker-compose", "podman-compose"), _COMPOSE),
}


def list_harmful_uses(run: Invocation) -> Iterator[Objection]:
    """What the tables have against a use of a program; the second is asked where the first has nothing, since a
    person may plainly ask for what is in the first.
    """
    found = _VERSIONED.fullmatch(run.program)
    name = found[1] if found else run.program
    listed = tuple(_match_rows(run, _ROWS.get(name, ())))
    yield from listed or _match_rows(run, _SYSTEM_ROWS.get(name, ()))


def _match_rows(run: Invocation, rows: Sequence[_Row]) -> Iterator[Objection]:
    arguments = skip_leading_options(run)
    for row in rows:
        first, rest = arguments[: len(row.words)], arguments[len(row.words) :]
        if len(first) < len(row.words) or any(
            word not in allowed for word, allowed in zip(first, row.words, strict=True)
        ):
            continue
        if row.unless.pattern and any(map(row.unless.fullmatch, rest)):
            continue
        if not row.needed.pattern or any(map(row.needed.fullmatch, rest)):
            yield Objection(row.guard, f"{' '.join((run.program, *first))}: it {row.does}", row.request)


def skip_leading_options(run: Invocation) -> tuple[str, ...]:
    """The arguments of a program; without the options in front of its command, where they may stand there."""
    with_value = _LEADING_VALUES.get(run.program)
    if with_value is None:
        return run.arguments
    rest = _skip_options(run.arguments, with_value)
    if rest[:1] == ("compose",):
        return ("compose", *_skip_options(rest[1:], _LEADING_VALUES["docker-compose"]))
    return rest


def _skip_options(words: tuple[str, ...], with_value: frozenset[str]) -> tuple[str, ...]:
    start = 0
    while start < len(words) and words[start].startswith("-"):
        start += 2 if words[start] in with_value else 1
    return words[start:]
