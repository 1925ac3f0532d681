"""What programs without a row in any table say themselves: the words by which they are told what to do.

Tools of all kinds name their tasks alike. What such a word says counts only for a program of which nothing else
is known, and only in front of its options, where tasks stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from quorum.domain.review.effects.side_effect import EffectKind, SideEffect
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.secrets.patterns import is_secret_name

_MOST_WORDS = 3
_DESTROYS = re.compile(
    r"(?:[\w.]+[:_-])*(?:delete|destroy|purge|drop|obliterate|wipe|erase|truncate|nuke|terminate|decommission"
    r"|flush(?:all|db)|reset[_-]?db|hard[_-]?reset|factory[_-]?reset)(?:[:_-](?:all|db|database|data))?"
)
_DATABASE = re.compile(r"db|database|migrat(?:e|ion|ions)|schema")
_GOES_BACK = re.compile(r"reset|downgrade|rollback|revert|down|clean")
_TASK_DESTROYS = re.compile(r"(?:delete|destroy|purge|wipe|erase|obliterate)-[\w-]+")
_NAMED_AFTER = re.compile(r"[-_.]")
_DESTROYER = frozenset({"destroy", "delete", "purge", "wipe", "erase"})
_OPTION = re.compile(r"--(?:purge|wipe|destroy|erase|delete)(?:-(?:all|data|everything|volumes?))?(?:=true)?")
_SECRETS = re.compile(r"(?:[\w]+-)*(?:secrets?|credentials?|passwords?|keyring)(?:-value)?")
_UNMASKS = re.compile(
    r"--(?:show|reveal|with|include|unmask)-?(?:secrets?|passwords?|credentials|decryption)(?:=true)?"
)
_TELLS = re.compile(r"get|read|show|export|print|reveal|view|cat|dump|decrypt|pull|download|fetch")
_CHANGES_ONE = re.compile(
    r"set|add|create|put|import|list|ls|scan|detect|check|audit|init|rotate|sync|push|help"
)
_RUNS_SCRIPTS = frozenset(
    {"make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "invoke", "inv", "mage"}
)
_SAYS = frozenset(
    {
        "say",
        "espeak",
        "figlet",
        "toilet",
        "cowsay",
        "notify-send",
        "gum",
        "dialog",
        "whiptail",
        "zenity",
        "expr",
    }
)
"""What only shows its words, or asks by them."""
_REHEARSED = frozenset({"--dry-run", "--help", "-h", "--version", "--plan", "--check"})


def judge_own_words(run: Invocation, *, is_known: bool, is_judged: bool) -> Iterator[SideEffect]:
    """What a program is told to do that nothing else is known of, or a script of the project by its name.

    `is_known`: a row says what it does with its words. `is_judged`: the tables of uses say which do harm.
    """
    if not _REHEARSED.isdisjoint(run.arguments):
        return
    words = [*takewhile(lambda word: not word.startswith("-"), run.arguments)][:_MOST_WORDS]
    if run.program in _RUNS_SCRIPTS:
        scripts = words[1:2] if words[:1] in (["run"], ["run-script"]) else words[:1]
        if any(map(_DESTROYS.fullmatch, scripts)) and "=" not in scripts[0]:
            yield SideEffect(EffectKind.HARM, f"runs a script that says it deletes: {scripts[0]}")
        return
    does = " ".join((run.program, *words))[:80]
    if any(map(_UNMASKS.fullmatch, run.arguments)):
        yield SideEffect(EffectKind.REVEAL, f"shows secrets: {does}")
    elif not (is_known or run.program in _SAYS):
        yield from _judge_task(run, words, does, is_judged=is_judged)


def _judge_task(run: Invocation, words: list[str], does: str, *, is_judged: bool) -> Iterator[SideEffect]:
    destroys = (
        any(_DESTROYS.fullmatch(word) or _TASK_DESTROYS.fullmatch(word) for word in words)
        or not _DESTROYER.isdisjoint(_NAMED_AFTER.split(run.program))
        or any(map(_OPTION.fullmatch, run.arguments))
    )
    if destroys and not is_judged:
        yield SideEffect(EffectKind.HARM, f"deletes something: {does}")
    elif not is_judged and any(map(_DATABASE.fullmatch, words)) and any(map(_GOES_BACK.fullmatch, words)):
        yield SideEffect(EffectKind.HARM, f"can delete data of a database: {does}")
    elif any(map(_CHANGES_ONE.fullmatch, words)):
        return
    elif any(map(_SECRETS.fullmatch, words)) or (
        words and _TELLS.fullmatch(words[0]) and any(map(is_secret_name, words[1:]))
    ):
        yield SideEffect(EffectKind.REVEAL, f"shows secrets: {does}")
