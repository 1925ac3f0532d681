"""Command rules of Codex, which its files state as calls: `prefix_rule(pattern=["git", "push"], …)`."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from itertools import product

from msgspec import Struct

from quorum.domain.importing.translated_rule import TranslatedRule, restrict_all, translate_command
from quorum.domain.review.permissions import COMMAND_TOOL, Answer

_ANSWERS = {"allow": Answer.ALLOW, "prompt": Answer.ASK, "forbidden": Answer.DENY}
_MOST_ALTERNATIVES = 64
_LONGEST = 200_000
_UNKNOWN = "it is not written as quorum knows it, so every command asks"


class CodexRule(Struct, frozen=True, kw_only=True):
    """One rule of a file: its text and line there, and what it is here."""

    text: str
    line: int
    translated: TranslatedRule


def read_codex_rules(text: str) -> Iterator[CodexRule]:
    """The rules of a file in its order. What is no rule that is known has every command asked about."""
    try:
        statements = ast.parse(text[:_LONGEST]).body if len(text) <= _LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        statements = None
    if statements is None:
        yield CodexRule(text="the whole file", line=1, translated=_ask_about_all())
        return
    for statement in statements:
        source = ast.get_source_segment(text, statement) or ""
        translated = _translate(statement)
        if translated is not None:
            yield CodexRule(text=" ".join(source.split()), line=statement.lineno, translated=translated)


def _ask_about_all() -> TranslatedRule:
    return TranslatedRule(answer=Answer.ASK, rules=(COMMAND_TOOL,), why=_UNKNOWN)


def _translate(statement: ast.stmt) -> TranslatedRule | None:
    if not isinstance(statement, ast.Expr):
        return _ask_about_all()
    call = statement.value
    if isinstance(call, ast.Constant):  # a text that only explains
        return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        return _ask_about_all()
    try:
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, RecursionError, MemoryError):
        return _ask_about_all()
    match call.func.id:
        case "prefix_rule":
            return _translate_prefix(given.get("pattern"), given.get("decision", "allow"))
        case "network_rule":
            return _translate_network(given.get("host"), given.get("decision"))
        case "host_executable":  # says only where a program of a rule may lie
            return None
        case _:
            return _ask_about_all()


def _translate_prefix(pattern: object, decision: object) -> TranslatedRule:
    answer = _ANSWERS.get(decision) if isinstance(decision, str) else None
    words = [[each] if isinstance(each, str) else each for each in pattern] if isinstance(pattern, list) else []
    is_known = all(isinstance(word, list) and word and all(isinstance(w, str) for w in word) for word in words)
    if answer is None or not words or not is_known:
        return _ask_about_all()
    kept, count = list[list[str]](), 1
    for alternatives in words:
        count *= len(alternatives)
        if count > _MOST_ALTERNATIVES:
            break
        kept.append(alternatives)
    if answer is Answer.ALLOW:
        is_plain = len(kept) == len(words) and all(" " not in word for each in words for word in each)
        found = (
            [translate_command(f"{' '.join(each)} *", answer) for each in product(*kept)] if is_plain else []
        )
        if not found or any(each.is_refused for each in found):
            return TranslatedRule(
                answer=answer, why="it cannot be allowed here with the same meaning, so it asks"
            )
        return TranslatedRule(answer=answer, rules=tuple(rule for each in found for rule in each.rules))
    if not kept:
        return restrict_all((COMMAND_TOOL,), answer, "command")
    texts = [" ".join(map(shlex.quote, each)) for each in product(*kept)]
    rules = tuple(f"{COMMAND_TOOL}({text} *)" for text in texts)
    return TranslatedRule(
        answer=answer, rules=rules, why="" if len(kept) == len(words) else "wider: all that begins so"
    )


def _translate_network(host: object, decision: object) -> TranslatedRule:
    if decision == "allow":
        return TranslatedRule(answer=Answer.ALLOW, why="addresses are asked about here as the mode says")
    if not isinstance(host, str) or decision not in ("deny", "prompt", "forbidden"):
        return _ask_about_all()
    answer = Answer.ASK if decision == "prompt" else Answer.DENY
    return TranslatedRule(answer=answer, rules=(f"web_fetch(url=*{host.strip('*.')}*)",))
