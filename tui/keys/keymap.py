"""All keys of the app by the names of what they do, and what a person may put in their place.

A key has a name as a person writes it, one as Textual knows it, and one as it is shown.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import NamedTuple, TypeAlias

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")
_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "page_up": "pageup",
    "page_down": "pagedown",
    "del": "delete",
    "ins": "insert",
    "option": "alt",
    "control": "ctrl",
    "cmd": "super",
}
# A terminal sends the same for both.
_SAME = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
    "ctrl+h": "backspace",
    "ctrl+space": "ctrl+at",
}
_NAMED = frozenset(key.value for key in Keys if "+" not in key.value and not key.value.startswith("<"))
_SHORT = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn"}


def parse_key(text: str) -> str | None:
    """The key that a person means, as Textual calls it; None where there is no such key."""
    *modifiers, base = _split_parts(text.strip())
    base = base if len(base) == 1 else _ALIASES.get(base.lower(), base.lower())
    modifiers = [_ALIASES.get(each.lower(), each.lower()) for each in modifiers]
    if set(modifiers) - set(MODIFIERS) or len(set(modifiers)) < len(modifiers):
        return None
    if len(base) == 1:
        if not base.isprintable() or base == " ":
            return "space" if base == " " and not modifiers else None
        if modifiers == ["shift"] and base.isalpha():
            return base.upper()
        name = _name_character(base.lower() if modifiers else base)
    elif base in _NAMED or base in _list_characters():
        name = base
    else:
        return None
    whole = "+".join((*sorted(modifiers), name))
    return _SAME.get(whole, whole)


def label_key(key: str) -> str:
    """A key as it is shown: `ctrl+o`, `?`, `pgup`."""
    *modifiers, base = key.split("+")
    return "+".join((*modifiers, _SHORT.get(base) or _list_characters().get(base, base)))


def is_printable(key: str) -> bool:
    """Whether a key writes a character where something is typed."""
    return "+" not in key and (key == "space" or key not in _NAMED)


def _split_parts(text: str) -> list[str]:
    """The modifiers and the key: a plus sign may itself be the key."""
    if text == "+" or text.endswith("++"):
        return [*(part for part in text[:-1].split("+") if part), "+"]
    return text.split("+")


@cache
def _list_characters() -> dict[str, str]:
    """The signs on a keyboard that have names, by these."""
    return {_name_character(sign): sign for sign in string.punctuation}


def _name_character(character: str) -> str:
    if character == ",":  # which stands between keys for Textual
        return "comma"
    (bound,) = Binding.make_bindings([(character, "any")])
    return bound.key


Wishes: TypeAlias = "Mapping[str, str | Sequence[str]]"
"""The keys a person wants, by the names of what they do."""

KEPT = frozenset({"escape", "ctrl+c", "enter", "up", "down", "left", "right"})
"""Keys that always do what they do: other keys come to them, and they go to nothing else."""

_LETS_RUN = frozenset(
    {
        "review_approve",
        "review_rule",
        "review_all_edits",
        "review_list_rest",
        "trust_accept",
        "spend_raise",
        "offer_accept",
        "form_send",
        "address_open",
        "server_accept",
        "memory_accept",
        "end_jobs_accept",
        "merge_accept",
        "drop_accept",
        "board_confirm",
        *(f"review_choice_{place}" for place in range(1, 10)),
    }
)
_BY_ACCIDENT = frozenset({"space", "tab", "shift+tab", "backspace", "delete"})


class KeyContext(NamedTuple):
    """What the keys of some classes, "module:Class" each, work in. Rooms of one `group` are open together."""

    title: str
    classes: tuple[str, ...]
    group: str


EVERYWHERE = "everywhere"
KEY_CONTEXTS = (
    KeyContext("Everywhere", ("quorum.tui.app.app:QuorumApp",), EVERYWHERE),
    KeyContext("In the chat", ("quorum.tui.chat.chat_screen:ChatScreen",), "chat"),
    KeyContext("In the prompt", ("quorum.tui.prompt_box.prompt:Prompt",), "chat"),
    KeyContext("While finding", ("quorum.tui.finding_bar:FindBar",), "chat"),
    KeyContext("While a part is selected", ("quorum.tui.copying:StopBar",), "marked"),
    KeyContext(
        "In a review",
        (
            "quorum.tui.screens.review.dialog:ReviewDialog",
            "quorum.tui.screens.review.choice_bar:ChoiceBar",
        ),
        "review",
    ),
    KeyContext("In the trust dialog", ("quorum.tui.screens.trust_dialog:TrustDialog",), "trust"),
    KeyContext(
        "In the offer of the sandbox", ("quorum.tui.screens.sandbox_offer:SandboxOfferDialog",), "offer"
    ),
    KeyContext(
        "In the offer of a local server", ("quorum.tui.screens.local_server:LocalServerDialog",), "server"
    ),
    KeyContext("In the spend dialog", ("quorum.tui.screens.spend_dialog:SpendDialog",), "spend"),
    KeyContext(
        "In a question of the model",
        ("quorum.tui.screens.person_question_dialog:PersonQuestionDialog",),
        "question",
    ),
    KeyContext(
        "In a form of an MCP server",
        ("quorum.tui.screens.server_dialogs:ServerFormDialog",),
        "form",
    ),
    KeyContext(
        "Before an address of an MCP server is opened",
        ("quorum.tui.screens.server_dialogs:ServerAddressDialog",),
        "address",
    ),
    KeyContext(
        "While adding a line to AGENTS.md", ("quorum.tui.screens.memory_dialog:MemoryDialog",), "memory"
    ),
    KeyContext("In the pager", ("quorum.tui.screens.pager_screen:PagerScreen",), "pager"),
    KeyContext(
        "In the findings of a code review",
        ("quorum.tui.screens.findings_screen:FindingsScreen",),
        "findings",
    ),
    KeyContext(
        "In the transcript of a task",
        ("quorum.tui.screens.subagent_screen:SubagentScreen",),
        "subagent",
    ),
    KeyContext("On the board", ("quorum.tui.screens.board_screen:BoardScreen",), "board"),
    KeyContext("In the inbox", ("quorum.tui.screens.inbox_screen:InboxScreen",), "inbox"),
    KeyContext("In the timeline", ("quorum.tui.screens.timeline.timeline_screen:TimelineScreen",), "timeline"),
    KeyContext("In the list of turns", ("quorum.tui.screens.rewind.turn_list:TurnList",), "turns"),
    KeyContext("While undoing a turn", ("quorum.tui.screens.rewind.restore_screen:RestoreScreen",), "restore"),
    KeyContext("While redoing an undo", ("quorum.tui.screens.rewind.restore_screen:RedoScreen",), "redo"),
    KeyContext(
        "In the changes of the session", ("quorum.tui.screens.rewind.changes_screen:ChangesScreen",), "changes"
    ),
    KeyContext(
        "In the review of effects", ("quorum.tui.screens.effects.effects_screen:EffectsScreen",), "effects"
    ),
    KeyContext("In the hunks of a file", ("quorum.tui.screens.effects.hunks_screen:HunksScreen",), "hunks"),
    KeyContext(
        "In the list of sessions",
        ("quorum.tui.screens.session_picker:SessionPicker",),
        "sessions",
    ),
    KeyContext("In the list of models", ("quorum.tui.screens.model_picker:ModelPicker",), "models"),
    KeyContext("In the settings", ("quorum.tui.settings.settings_screen:SettingsScreen",), "settings"),
    KeyContext("Before background commands end", ("quorum.tui.screens.jobs_screen:EndJobsDialog",), "end_jobs"),
    KeyContext(
        "In the offer of links for a worktree",
        ("quorum.tui.screens.worktree_dialogs:LinksOfferDialog",),
        "links",
    ),
    KeyContext(
        "Before a worktree is merged",
        ("quorum.tui.screens.worktree_dialogs:MergeWorktreeDialog",),
        "worktree_merge",
    ),
    KeyContext(
        "Before a worktree is dropped",
        ("quorum.tui.screens.worktree_dialogs:DropWorktreeDialog",),
        "worktree_drop",
    ),
    KeyContext("In the background commands", ("quorum.tui.screens.jobs_screen:JobsScreen",), "jobs"),
    KeyContext(
        "In the permissions",
        ("quorum.tui.screens.permissions_screen:PermissionsScreen",),
        "permissions",
    ),
    KeyContext("While judging calls", ("quorum.tui.screens.permissions_screen:VerdictScreen",), "verdicts"),
    KeyContext("In costs and context", ("quorum.tui.screens.accounts.sheet:AccountSheet",), "accounts"),
    KeyContext("In the MCP servers", ("quorum.tui.screens.accounts.mcp_screen:McpScreen",), "accounts"),
    KeyContext(
        "In the login to an MCP server", ("quorum.tui.screens.accounts.mcp_screen:LoginScreen",), "accounts"
    ),
    KeyContext("In the themes", ("quorum.tui.themes.picker:ThemePicker",), "themes"),
    KeyContext("In the tour", ("quorum.tui.demo_app:DemoApp",), EVERYWHERE),
    KeyContext("In this help", ("quorum.tui.screens.help:HelpScreen",), "help"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAction:
    """An action of keys: its name, its description, its default keys, and the context they work in."""

    name: str
    does: str
    keys: tuple[str, ...]
    context: KeyContext
    action: str

    def with_wish(self, wish: str | Sequence[str]) -> tuple[str, ...]:
        """The keys it has with those that a person wants; what is no key is left out."""
        wanted = [wish] if isinstance(wish, str) else wish
        named = [key for each in wanted if (key := parse_key(each)) is not None]
        return tuple(dict.fromkeys((*named, *(key for key in self.keys if key in KEPT))))


@cache
def list_key_actions() -> tuple[KeyAction, ...]:
    """All key actions, grouped by context. Imports every screen."""
    found: dict[tuple[str, KeyContext], KeyAction] = {}
    for context in KEY_CONTEXTS:
        for binding in (each for node in load_nodes(context) for each in list_own_bindings(node)):
            if not binding.id or _is_elsewhere(binding.id, context, found):
                continue
            keys = found[binding.id, context].keys if (binding.id, context) in found else ()
            found[binding.id, context] = KeyAction(
                name=binding.id,
                does=binding.description,
                keys=tuple(dict.fromkeys((*keys, binding.key))),
                context=context,
                action=binding.action,
            )
    return tuple(found.values())


def _is_elsewhere(name: str, context: KeyContext, found: Mapping[tuple[str, KeyContext], KeyAction]) -> bool:
    """Whether it is the app's already: the tour is the app with a few keys more."""
    return context.group == EVERYWHERE and any(
        (name, other) in found for other in KEY_CONTEXTS[: KEY_CONTEXTS.index(context)]
    )


def load_nodes(context: KeyContext) -> list[type[DOMNode]]:
    """The classes whose keys work in a context."""
    places = (each.partition(":") for each in context.classes)
    return [getattr(import_module(module), name) for module, _, name in places]


def build_keymap(wishes: Wishes) -> dict[str, str]:
    """The keys of what has others than usual, as Textual takes them. What no wish may be is left out."""
    if not wishes:
        return {}
    wrong = {name for name, _ in find_problems(wishes)}
    known = {key_action.name: key_action for key_action in list_key_actions()}
    return {name: ",".join(known[name].with_wish(wish)) for name, wish in wishes.items() if name not in wrong}


def list_present_keys(key_action: KeyAction, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """The keys it has now."""
    return tuple(keymap[key_action.name].split(",")) if key_action.name in keymap else key_action.keys


def is_remappable(name: str) -> bool:
    """Whether its keys can be changed: not if it shares its default key with another action of its context."""
    return name not in _find_shared_keys()


def find_problems(wishes: Wishes) -> Iterator[tuple[str, str]]:
    """What is wrong with the keys a person wants: the name it is about, and a sentence."""
    if not wishes:
        return
    by_name: dict[str, list[KeyAction]] = {}
    for key_action in list_key_actions():
        by_name.setdefault(key_action.name, []).append(key_action)
    sound: dict[str, str | Sequence[str]] = {}
    for name, wish in wishes.items():
        if (same := by_name.get(name)) is None:
            yield name, _explain_unknown(name, list(by_name))
        elif found := list(_explain_unfit(same, wish)):
            yield from ((name, sentence) for sentence in found)
        else:
            sound[name] = wish
    yield from _find_clashes(sound)


def _explain_unknown(name: str, known: Sequence[str]) -> str:
    from quorum.domain.text.fuzzy import find_nearest_word  # only a mistake needs it

    near = find_nearest_word(name, known)
    hint = f"did you mean {near}?" if near else "`quorum config keys` lists the names"
    return f"nothing is called {name!r}; {hint}"


def _explain_unfit(same: Sequence[KeyAction], wish: str | Sequence[str]) -> Iterator[str]:
    name = same[0].name
    if not is_remappable(name):
        yield f"{name} shares its key with another action there and cannot be changed"
    if not wish:
        yield f"{name} needs a key at least"
    for text in [wish] if isinstance(wish, str) else wish:
        key = parse_key(text)
        if key is None:
            yield f'{text!r} is no key; write one such as "ctrl+g", "f6", "alt+left" or "?"'
        elif key in KEPT and not any(key in key_action.keys for key_action in same):
            yield f"{label_key(key)} always does what it does and cannot be put on anything else"
        elif name in _LETS_RUN and key in _BY_ACCIDENT:
            yield f"{label_key(key)} is pressed too easily for something that lets calls run"
        elif is_printable(key) and not any(map(is_printable, same[0].keys)):
            yield f"{label_key(key)} writes a character there; take one with ctrl or alt, or a function key"


def _find_clashes(wishes: Wishes) -> Iterator[tuple[str, str]]:
    """The keys with two actions in one context, at least one of them set by the user."""
    everything = [
        (
            key_action,
            key_action.with_wish(wishes[key_action.name]) if key_action.name in wishes else key_action.keys,
        )
        for key_action in list_key_actions()
    ]
    reported: set[frozenset[str]] = set()
    for key_action, keys in everything:
        for key in keys if key_action.name in wishes else ():
            for other, theirs in everything:
                pair = frozenset({key_action.name, other.name})
                if len(pair) == 1 or pair in reported or key not in theirs or not _meet(key_action, other):
                    continue
                if key in key_action.keys and key in other.keys:
                    continue  # that is so without any wish: which of them counts depends on what is open
                reported.add(pair)
                where = other.context.title[0].lower() + other.context.title[1:]
                yield key_action.name, f"{label_key(key)} is the key of {other.name} {where}: {other.does}"


def _meet(one: KeyAction, other: KeyAction) -> bool:
    groups = {one.context.group, other.context.group}
    return len(groups) == 1 or EVERYWHERE in groups


@cache
def _find_shared_keys() -> frozenset[str]:
    """What shares a key within its class: which of both counts depends on what the person is about there."""
    found: set[str] = set()
    for context in KEY_CONTEXTS:
        for node in load_nodes(context):
            bound = {(binding.key, binding.id or "") for binding in list_own_bindings(node)}
            often = Counter(key for key, _ in bound)
            found |= {name for key, name in bound if often[key] > 1}
    return frozenset(found)


def group_by_context(
    keymap: Mapping[str, str],
) -> Iterator[tuple[str, list[tuple[KeyAction, tuple[str, ...]]]]]:
    """The title of each context with its key actions and their keys."""
    for context in KEY_CONTEXTS:
        yield (
            context.title,
            [
                (key_action, list_present_keys(key_action, keymap))
                for key_action in list_key_actions()
                if key_action.context is context
            ],
        )


def find_context_title(node: DOMNode) -> str:
    """The title of the context that this is of; empty where it has none of its own."""
    own = f"{type(node).__module__}:{type(node).__qualname__}"
    return next((context.title for context in KEY_CONTEXTS if own in context.classes), "")


def list_own_bindings(node: type[DOMNode]) -> Iterator[Binding]:
    """The bindings of a class and of those of ours that it comes from, the farthest first, one for each key."""
    for base in reversed(node.__mro__):
        if base.__module__.startswith("quorum.tui."):
            yield from Binding.make_bindings(base.__dict__.get("BINDINGS", ()))
