"""Rules about paths that lead over links: here a rule is held against where a path leads."""

from __future__ import annotations

import os
from itertools import takewhile

from quorum.domain.importing.foreign_rules import TranslatedRule, list_name_runs
from quorum.domain.replacing import replace
from quorum.domain.review.permissions import Answer

_FAMILIES = ("read_file(", "write_file(")


def add_linked_paths(rule: TranslatedRule, folder: str) -> TranslatedRule:
    """The rule, and the same about where the paths that it names lead by links. A relative one begins at
    `folder`. Blocks."""
    if rule.answer is Answer.ALLOW:
        return rule
    found: dict[str, None] = {}
    for text in rule.rules:
        family = next((each for each in _FAMILIES if text.startswith(each)), "")
        if family and (led := _follow(text[len(family) : -1], folder)):
            found[f"{family}{led})"] = None
    if not (added := [text for text in found if text not in rule.rules]):
        return rule
    begin = f"{folder.rstrip('/')}/" if folder else ""
    runs = list_name_runs(tuple(text.partition("(")[2][:-1].removeprefix(begin) for text in added))
    return replace(
        rule,
        rules=(*rule.rules, *added),
        sensitive=(*rule.sensitive, *runs) if rule.sensitive else (),
        protected=(*rule.protected, *runs) if rule.protected else (),
    )


def _follow(pattern: str, folder: str) -> str:
    """The pattern from where its plain beginning leads; empty where that leads nowhere else."""
    if not pattern.startswith("/") and not folder:
        return ""
    names = [name for name in pattern.split("/") if name]
    plain = list(takewhile(lambda name: not set("*?") & set(name), names))
    begin = os.path.join(folder, "/" if pattern.startswith("/") else "", *plain)
    try:
        led = os.path.realpath(begin)
    except (OSError, ValueError):
        return ""
    return "" if led == os.path.normpath(begin) else "/".join((led.rstrip("/"), *names[len(plain) :]))
