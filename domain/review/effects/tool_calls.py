"""Calls of tools that run no command as effects: code that an edit adds, and what tools are named after."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

from quorum.domain.review.effects.reduction import reduce_command, reduce_program_text
from quorum.domain.review.effects.side_effect import EffectKind, SideEffect
from quorum.domain.shell.script import ReadScript
from quorum.domain.text.json_value import JsonObject, JsonValue

_LONGEST = 65_536  # characters of a text that is looked at
_GRAVE_IN_FILES = frozenset(
    {
        *(
            EffectKind.SEND,
            EffectKind.REVEAL,
            EffectKind.RUN_FETCHED,
            EffectKind.RUN_HIDDEN,
            EffectKind.PERSIST,
        ),
        *(EffectKind.ELEVATE, EffectKind.DISABLE, EffectKind.DISGUISE, EffectKind.EXHAUST, EffectKind.ATTACK),
    }
)
"""What a file that somebody runs later should not come to do unseen."""
_SHELL_FILE = re.compile(
    r".*\.(sh|bash|zsh|ksh|envrc)|(.*/)?(\.envrc|\.husky/[^/]+|\.git/hooks/[^/]+|configure)"
)
_BUILD_FILE = re.compile(r"(.*/)?((GNU)?[Mm]akefile|.*\.mk|justfile)")
_IMAGE_FILE = re.compile(r"(.*/)?(Dockerfile|Containerfile)[^/]*|.*\.dockerfile")
_WORKFLOW = re.compile(
    r"(.*/)?(\.github/(workflows|actions)/|\.gitlab-ci|\.circleci/|azure-pipelines|\.drone).*"
)
_SECRETS_OF_WORKFLOW = re.compile(r"\$\{\{[^}]*\bsecrets\b[^}]*\}\}")
_GIVES = frozenset({"add", "invite", "grant", "share", "give", "assign", "allow", "authorize", "promote"})
_ACCESS = frozenset(
    {
        *(
            "collaborator",
            "collaborators",
            "access",
            "permission",
            "permissions",
            "member",
            "members",
            "role",
            "roles",
        ),
        *("admin", "guest", "owner", "sharing", "acl", "policy"),
    }
)
_LOSES = frozenset({"delete", "erase", "purge", "destroy", "drop", "wipe", "terminate"})
_PAYS = frozenset({"transfer", "pay", "withdraw", "buy", "purchase", "wire", "trade", "refund"})
_MONEY = frozenset(
    {"money", "payment", "payments", "funds", "fund", "bitcoin", "crypto", "bank", "order", "stock"}
)
_OPENS = frozenset({"unlock", "disarm", "disable", "deactivate", "bypass"})


def reduce_tool_call(tool: str, arguments: JsonObject, read_script: ReadScript) -> Iterator[SideEffect]:
    """The effects of a call that runs no command."""
    path = arguments.get("path")
    if isinstance(path, str):
        before = _reduce_texts(path, _list_texts(arguments, "old_text"), read_script)
        after = _reduce_texts(path, _list_texts(arguments, "new_text", "content"), read_script)
        for effect in after:
            if effect not in before and effect.kind in _GRAVE_IN_FILES:
                yield SideEffect(effect.kind, f"adds code to {path} that {effect.does}", effect.place)
    if tool in ("edit_file", "write_file"):
        return
    words = {each.lower() for each in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", tool)}
    action = arguments.get("action")
    words |= {action.lower()} if isinstance(action, str) else set()
    name = tool.rpartition("__")[2]
    if words & _GIVES and words & _ACCESS:
        yield SideEffect(EffectKind.ELEVATE, f"gives somebody access by {name}")
    elif words & _LOSES:
        yield SideEffect(EffectKind.HARM, f"deletes something by {name}")
    elif words & _PAYS and words & _MONEY:
        yield SideEffect(EffectKind.HARM, f"pays or trades by {name}")
    elif words & _OPENS:
        yield SideEffect(EffectKind.DISABLE, f"opens or switches something off by {name}")


def _list_texts(arguments: JsonObject, *names: str) -> Iterator[str]:
    edits = arguments.get("edits")
    for fields in (
        arguments,
        *(each for each in (edits if isinstance(edits, list) else ()) if isinstance(each, dict)),
    ):
        for name in names:
            if isinstance(text := fields.get(name), str):
                yield text[:_LONGEST]


def _reduce_texts(path: str, texts: Iterator[str], read_script: ReadScript) -> dict[SideEffect, None]:
    found: dict[SideEffect, None] = {}
    for text in texts:
        if path.endswith((".py", ".pyi", ".pth")):
            effects = reduce_program_text(textwrap.dedent(text), "python", read_script)
            found.update(
                dict.fromkeys(each for each in effects if each.kind is not EffectKind.SEND or _is_own(each))
            )
        for command in _list_commands(path, text):
            found.update(dict.fromkeys(reduce_command(command, read_script)))
    return found


def _is_own(effect: SideEffect) -> bool:
    """Whether what is sent is no plain file: programs send files for a living."""
    return not effect.does.startswith("sends what is in") or "sends what is in ~" in effect.does


def _list_commands(path: str, text: str) -> Iterator[str]:
    """The shell texts in a file that programs run."""
    if _SHELL_FILE.fullmatch(path) or text.startswith("#!/bin/"):
        yield text
    elif _BUILD_FILE.fullmatch(path):
        yield "\n".join(
            line.strip().lstrip("@-+") for line in text.split("\n") if line.startswith(("\t", "    "))
        )
    elif _IMAGE_FILE.fullmatch(path):
        joined = re.sub(r"\\\n", " ", text)
        yield "\n".join(line[4:] for line in joined.split("\n") if line.startswith("RUN "))
    elif _WORKFLOW.fullmatch(path):
        lines = re.findall(
            r"(?m)^[ \t]*+(?:-[ \t]*+)?(?:run|script):[ \t]*[|>]?-?[ \t]*(.*(?:\n[ \t]{8,}\S.*)*)", text
        )
        yield "\n".join(_SECRETS_OF_WORKFLOW.sub("$GITHUB_TOKEN", line) for line in lines)
    elif path.rpartition("/")[2] in ("package.json", "composer.json"):
        yield from _list_scripts(text)


def _list_scripts(text: str) -> Iterator[str]:
    """The commands of a package, from the whole file or from lines of it."""
    found: JsonValue = None
    try:
        found = json.loads(text)
    except ValueError:
        yield from re.findall(
            r'"(?:(?:pre|post)?(?:install|publish|pack|prepare)\w*)"\s*:\s*"((?:\\.|[^"\\])*)"', text
        )
    scripts = found.get("scripts") if isinstance(found, dict) else None
    if isinstance(scripts, dict):
        yield from (each for each in scripts.values() if isinstance(each, str))
