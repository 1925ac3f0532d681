"""What programs without a row of effects say themselves: the words by which they are told what to do.

Tools of all kinds name their tasks alike. What such a word says counts only for a program of which nothing else
is known, and only in front of its options, where tasks stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from quorum.domain.review.effects.side_effect import EffectKind, SideEffect
from quorum.domain.review.effects.stored_secrets import tells_stored_secrets
from quorum.domain.review.effects.task_terms import ask_for_task
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.program_table import names_use
from quorum.domain.review.plain_request import Effect, RequestTerms

_MOST_WORDS = 3
_DESTROYS = re.compile(
    r"(?:[\w.]+[:_-])*(?:delete|destroy|purge|drop|obliterate|wipe|erase|truncate|nuke|terminate|decommission"
    r"|flush(?:all|db)|reset[_-]?db|hard[_-]?reset|factory[_-]?reset)(?:[:_-](?:all|db|database|data))?"
)
_TASK_DESTROYS = re.compile(r"(?:delete|destroy|purge|wipe|erase|obliterate)-[\w-]+")
_DESTROYER = frozenset({"destroy", "delete", "purge", "wipe", "erase"})
_OPTION = re.compile(r"--(?:purge|wipe|destroy|delete(?:-(?:all|data|everything|volumes?))?)(?:=true)?")
_DATABASE = re.compile(r"db|database|migrat(?:e|ion|ions)|schema")
_MAY_DESTROY = re.compile(
    "delete|destroy|purge|drop|obliterate|wipe|erase|truncate|nuke|terminate|decommission|flush|reset|db|database"
    "|migrat|schema"
)
"""One of these is in each word that says so. Most commands hold none of them."""
_GOES_BACK = re.compile(r"reset|downgrade|rollback|revert|down|clean")
_RUNS_SCRIPTS = frozenset(
    {"make", "gmake", "just", "task", "npm", "pnpm", "yarn", "bun", "invoke", "inv", "mage"}
)
_SAYS = frozenset(
    {
        *("tldr", "man", "info", "help", "cheat", "whatis", "apropos", "say", "espeak", "figlet", "toilet"),
        *("cowsay", "notify-send", "gum", "dialog", "whiptail", "zenity", "expr", "module"),
    }
)
"""What only shows its words, asks by them, or changes nothing but its own shell."""
_REHEARSED = frozenset({"--dry-run", "--help", "-h", "-?", "--version", "--plan", "--check"})


def judge_own_words(run: Invocation, *, is_known: bool) -> Iterator[SideEffect]:
    """What a program is told to do that nothing else is known of, or a script of the project by its name.

    `is_known`: a row says what it does with its words.
    """
    if (not run.arguments and "-" not in run.program) or not _REHEARSED.isdisjoint(run.arguments):
        return
    if is_known and run.program not in _RUNS_SCRIPTS:
        return
    words = [*takewhile(lambda word: not word.startswith("-"), run.arguments[:_MOST_WORDS])]
    if run.program in _RUNS_SCRIPTS:
        scripts = words[1:2] if words[:1] in (["run"], ["run-script"]) else words[:1]
        if any(map(_DESTROYS.fullmatch, scripts)):
            behind = run.arguments[run.arguments.index(scripts[0]) + 1 :]
            terms = ask_for_task(run, scripts[0], (), behind, Effect.TAKE_AWAY)
            does = f"runs a script that says it deletes: {scripts[0]}"
            yield SideEffect(EffectKind.HARM, does, request=terms)
        return
    does = " ".join((run.program, *words))[:80]
    if run.program not in _SAYS:
        yield from _judge_task(run, words, does)


def _judge_task(run: Invocation, words: Sequence[str], does: str) -> Iterator[SideEffect]:
    goes_back = destroys = None
    may_destroy = _MAY_DESTROY.search(f"{run.program} {' '.join(run.arguments)}") is not None
    if may_destroy:
        destroys = next(filter(_is_deletion, words), None)
    if (
        may_destroy
        and destroys is None
        and (
            not _DESTROYER.isdisjoint(re.split("[-_.]", run.program))
            or any(word.startswith("--") and _OPTION.fullmatch(word) for word in run.arguments)
        )
    ):
        destroys = run.program
    if may_destroy and any(map(_DATABASE.fullmatch, words)):
        goes_back = next(filter(_GOES_BACK.fullmatch, words), None)
    if (destroys or goes_back) and names_use(run):  # the tables say whether it does harm
        destroys = goes_back = None
    if destroys is not None:
        terms = _ask_for(run, destroys, Effect.TAKE_AWAY)
        yield SideEffect(EffectKind.HARM, f"deletes something: {does}", request=terms)
    elif goes_back is not None:
        terms = _ask_for(run, goes_back, Effect.GO_BACK)
        yield SideEffect(EffectKind.HARM, f"can delete data of a database: {does}", request=terms)
    elif tells_stored_secrets(run):
        yield SideEffect(EffectKind.REVEAL, f"shows secrets: {does}")


def _is_deletion(word: str) -> bool:
    return bool(_DESTROYS.fullmatch(word) or _TASK_DESTROYS.fullmatch(word))


def _ask_for(run: Invocation, task: str, effect: Effect) -> RequestTerms | None:
    place = run.arguments.index(task) if task in run.arguments else -1
    return ask_for_task(run, task, run.arguments[: max(place, 0)], run.arguments[place + 1 :], effect)
