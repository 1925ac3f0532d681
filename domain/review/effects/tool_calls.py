"""Calls of tools that run no command as effects, and which effects a person should be asked about."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import normpath

from quorum.domain.review.effects.places import find_secret
from quorum.domain.review.effects.reduction import (
    Reducer,
    reduce_command,
    reduce_program_text,
    reduce_run_code,
)
from quorum.domain.review.effects.side_effect import NO_DATA, EffectKind, SideEffect
from quorum.domain.review.effects.task_terms import ask_for_tool
from quorum.domain.review.hazards.inline_code import read_python
from quorum.domain.review.hazards.starters import list_started_texts
from quorum.domain.review.objection import Objection
from quorum.domain.review.plain_request import Effect
from quorum.domain.secrets.patterns import find_pattern_spans
from quorum.domain.shell.script import ReadScript
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.unified_diff import parse_diff

_LONGEST = 65_536  # characters of a text that is looked at
_GIVES = frozenset(
    {
        *(
            "add",
            "invite",
            "grant",
            "share",
            "give",
            "assign",
            "allow",
            "authorize",
            "promote",
            "attach",
            "bind",
        ),
        "impersonate",
    }
)
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
_LOSES = frozenset(
    {
        "delete",
        "erase",
        "purge",
        "destroy",
        "drop",
        "wipe",
        "terminate",
        "truncate",
        "flush",
        "flushall",
        "flushdb",
    }
)
_TAKES_AWAY = frozenset(
    {
        *("remove", "clear", "revoke", "cancel", "empty", "uninstall", "evict", "ban", "kick", "unpublish"),
        *("expunge", "deprovision", "decommission", "suspend", "trash"),
    }
)
_SLIGHT = frozenset(
    {
        *("label", "tag", "reaction", "emoji", "star", "like", "pin", "bookmark", "highlight", "mark", "vote"),
        *("assignee", "reviewer", "follower", "watcher", "parent", "relation", "link"),
        *("console", "screen", "terminal", "output", "selection", "input", "form", "field", "cursor"),
        *("breakpoint", "watchpoint", "filter", "sort", "search", "cache", "override", "listener"),
        *(
            "mock",
            "route",
            "viewport",
            "timer",
            "animation",
            "style",
            "format",
            "formatting",
            "border",
            "trace",
        ),
        *("import", "whitespace", "background", "request", "network", "overlay", "due", "estimate", "dialog"),
        *("job", "run", "build", "download", "upload", "task", "operation"),
    }
)
"""Marks, what a screen shows, and work that can be begun again: to take these away loses nothing."""
_PAYS = frozenset({"transfer", "pay", "withdraw", "buy", "purchase", "wire", "trade", "refund", "payout"})
_ASKS = frozenset(
    {
        *("get", "list", "search", "find", "describe", "show", "count", "query", "check", "view", "estimate"),
        *("preview", "simulate", "explain", "validate"),
    }
)
"""What a tool does that changes nothing, whatever else stands in its name."""
_TELLS = frozenset(
    {"get", "read", "reveal", "show", "fetch", "decrypt", "export", "view", "retrieve", "download"}
)
_KEPT_SECRET = re.compile(
    r"secrets?|passwords?|credentials?|keychain|passphrase|accesskeys?|apikeys?|mnemonic|seedphrase"
)
_KEYS = re.compile(
    r"(access|api|secret|private|ssh|service)(account)?(key|token)|(auth|refresh|bearer)token|loginprofile"
)
_INFRASTRUCTURE = frozenset(
    {"terraform", "tofu", "pulumi", "infra", "infrastructure", "cloudformation", "terragrunt"}
)
_DESTROYS = re.compile(
    r"(?i)((force|auto|is|hard|permanent|permanently|confirm|do|also|and|with|then)_?)*(destroy|delete|purge|wipe|erase|truncate|drop)(_?(all|everything|existing|data|volumes?|tables?|database|first))?"
)
"""Arguments that turn what a tool does into a deletion."""
_MOVES_HISTORY = frozenset({"push", "reset", "checkout", "ref", "branch"})
_FORCES = re.compile(r"(?i)(is_?|use_?)?(forced?|force_?(push|update|with_?lease)|hard)")
_WAYS = frozenset({"mode", "type", "resettype", "resetmode"})
_COUNTS = re.compile(
    r"(?i)(desired_?)?(replicas|count|capacity|instances)|(min|max)_?(size|instances|replicas)"
)
_SCALES = frozenset({"scale", "resize", "update", "set", "patch", "modify"})
_PASSES_ON = frozenset({"forward", "portforward", "tunnel", "expose", "proxy"})
_TO_ALL = frozenset({"tunnel", "expose"})
_BINDS = frozenset({"address", "host", "bind", "bindaddress", "listen", "listenaddress", "hostip", "interface"})
_EVERYWHERE = re.compile(r"0\.0\.0\.0(:\d+)?|\*|\[?::\]?")
_PLAIN_RIGHTS = frozenset({"create", "put", "update", "set", "attach"})
_RIGHTS = frozenset(
    {"policy", "role", "rolebinding", "clusterrolebinding", "binding", "permission", "permissions"}
)
_RUNS_CONTAINERS = frozenset(
    {"container", "containers", "docker", "pod", "pods", "kubernetes", "podman", "k8s"}
)
_OF_CONTAINERS = re.compile(
    r'"privileged": true|"(host_?pid|pid_?mode|host_?network)": ("host"|true)|docker\.sock'
    r'|"/(etc|root|home|var)?"|"(/|/etc|/root):'
)
_SESSION = re.compile(r"\b(document\.cookie|localStorage|sessionStorage|indexedDB)\b")
_MONEY = frozenset(
    {"money", "payment", "payments", "funds", "fund", "bitcoin", "crypto", "bank", "order", "stock"}
)
_OPENS = frozenset({"unlock", "disarm", "disable", "deactivate", "bypass"})
_WRITES = frozenset(
    {"write", "create", "edit", "append", "save", "update", "insert", "replace", "patch", "put"}
)
_TARGETS = frozenset({"destination", "dest", "target", "to", "newpath", "destinationpath", "targetpath"})
_PLACES = frozenset({"copy", "move", "rename", "download"})
_SENDS = frozenset(
    {"send", "post", "publish", "reply", "comment", "share", "upload", "forward", "notify", "message", "email"}
)
_MAKES = frozenset({"create", "add", "update", "edit"})
_POSTS = frozenset({"issue", "gist", "paste", "page", "snippet", "ticket", "discussion", "release", "request"})
_RUNS = frozenset({"run", "exec", "execute", "eval", "evaluate"})
_PATH_NAME = re.compile(
    r"(?i)(.*[_-])?(path|file|filename|uri|source|src|dest|destination|target|attachment|folder|dir|directory)s?"
    r"|.*(Path|File|Uri|Attachment)s?"
)
_ADDRESS_NAME = re.compile(r"(?i)(.*[_-])?(url|uri|href|link|endpoint|address)s?")
_FOREIGN_ADDRESS = re.compile(r"https?://((?!localhost|127\.)[^\s/\"'`?#]+)")
_COMMAND_NAME = re.compile(r"(?i)([a-z]+[_-]|shell|bash)?(command|cmd)([_-]?line)?s?|argv|shell|bash|script")
_CODE_NAME = re.compile(r"(?i)code|source|expression|function|script|snippet")
_JAVASCRIPT = frozenset({"node", "js", "javascript", "typescript", "deno", "bun", "browser", "playwright"})
_SENDING_METHODS = frozenset({"POST", "PUT", "PATCH"})
_TYPES = frozenset({"terminal", "tmux", "shell", "console", "tty", "pty", "screen", "ssh", "cron", "crontab"})
"""What takes commands in whatever it is given."""
_TYPED_NAME = re.compile(r"(?i)keys|input|text|data|line|job|task")
_SQL_NAME = re.compile(r"(?i)sql|quer(y|ies)|statements?")
_OF_TESTS = re.compile(r"(?i)(^|[/_.-])(tests?|specs?)([/_.-]|$)")
_UNCHECKED = re.compile(
    r"""(?i)
      \bInsecureSkipVerify['"]?\s*[:=]\s*true
    | \b(rejectUnauthorized|strict-?ssl|ssl_?verify)['"]?\s*[:=\ ]\s*['"]?(false|0)\b
    | \bverify(_ssl|_mode)?['"]?\s*(=>?|:)\s*(False\b|\S*VERIFY_NONE)
    | \bCURLOPT_SSL_VERIFY(PEER|HOST)\W{1,3}(false|0)\b
    | \b_create_unverified_context | \bdanger_accept_invalid_(certs|hostnames)\(true
    | NODE_TLS_REJECT_UNAUTHORIZED\W{1,6}0
    """,
    re.VERBOSE,
)
"""How libraries of TLS are told to trust whoever answers."""


def reduce_tool_call(
    tool: str, arguments: JsonObject, read_script: ReadScript, diff: str | None = None
) -> Iterator[SideEffect]:
    """The effects of a call that runs no command. `diff`: what it changes in files, if that is known."""
    path = next(_list_values(arguments, _PATHS), None)
    if diff is not None:
        yield from _reduce_diff(diff, None if path is not None else read_script)
    if path is not None:
        path = normpath(path)
        old = _list_texts(arguments, _OLD_TEXTS)
        yield from _list_added(path, old, _list_texts(arguments, _NEW_TEXTS | _CONTENTS), read_script)
        if old and diff is None:
            # Commands mostly do without its tables.
            from quorum.domain.review.effects.file_contents import find_lost_protection

            new = "\n".join(_list_texts(arguments, _NEW_TEXTS))
            if lost := find_lost_protection(path, "\n".join(old), new):
                yield lost
    if tool in ("edit_file", "write_file"):
        return
    yield from _judge_names(tool, arguments)


def _list_added(
    path: str, old: Sequence[str], new: Sequence[str], read_script: ReadScript
) -> Iterator[SideEffect]:
    """The effects of the new texts of a file that the old ones do not have."""
    grave = _reduce_texts(path, new, read_script)
    before = _reduce_texts(path, old, read_script) if grave else ()
    for effect in grave:
        if effect not in before:
            yield SideEffect(effect.kind, f"adds code to {path} that {effect.does}", effect.place)


def _reduce_diff(diff: str, read_script: ReadScript | None) -> Iterator[SideEffect]:
    """What changes of files take away, and what they add where there is `read_script`."""
    from quorum.domain.review.effects.file_contents import find_lost_protection

    changed: dict[str, dict[str, list[str]]] = {}
    for line in parse_diff(diff):
        if line.sign in ("-", "+"):
            changed.setdefault(line.path, {"-": [], "+": []})[line.sign].append(line.text)
    for path, lines in changed.items():
        old, new = "\n".join(lines["-"]), "\n".join(lines["+"])
        if lost := find_lost_protection(path, old, new):
            yield lost
        if read_script is not None:
            yield from _list_added(path, [old], [new[:_LONGEST]], read_script)


def _judge_names(tool: str, arguments: JsonObject) -> Iterator[SideEffect]:
    """What the names of a tool, and of the action that it is told to do, say of it."""
    name = tool.rpartition("__")[2]
    told = [*_list_values(arguments, _ACTIONS)]
    words = _split_words(tool).union(*map(_split_words, told))
    own = _split_words(name).union(*map(_split_words, told))
    own |= {word.removesuffix("s") for word in own}
    joined = "".join(part for each in (name, *told) for part in re.findall(r"[A-Za-z0-9]+", each)).lower()
    if not told and words & _TELLS and any(map(_KEPT_SECRET.fullmatch, own)):
        yield SideEffect(EffectKind.REVEAL, f"shows secrets by {name}")
    elif words & _GIVES and (words & _ACCESS or not words.isdisjoint(("share", "invite"))):
        yield SideEffect(EffectKind.ELEVATE, f"gives somebody access by {name}")
    elif words & _LOSES or (own & _TAKES_AWAY and not own & _SLIGHT):
        terms = ask_for_tool(name, _LOSES | _TAKES_AWAY, arguments.values(), Effect.TAKE_AWAY)
        yield SideEffect(EffectKind.HARM, f"deletes something by {name}", request=terms)
    elif words & _OPENS:
        yield SideEffect(EffectKind.DISABLE, f"opens or switches something off by {name}")
    elif own & _ASKS:
        return
    elif words & _PAYS and (words & _MONEY or "refund" in own or "payout" in own):
        yield SideEffect(EffectKind.HARM, f"pays or trades by {name}")
    elif own & _PLAIN_RIGHTS and (own & _RIGHTS or _KEYS.search(joined)):
        yield SideEffect(EffectKind.ELEVATE, f"gives somebody rights by {name}")
    elif words & _INFRASTRUCTURE and own & {"apply", "up", "deploy", "import"}:
        yield SideEffect(EffectKind.HARM, f"changes infrastructure by {name}")
    elif "merge" in own and own & {"request", "pr", "pull", "mr"}:
        terms = ask_for_tool(name, ("merge", "request", "pull"), arguments.values(), Effect.PUBLISH)
        yield SideEffect(EffectKind.HARM, f"changes what others see by {name}", request=terms)
    else:
        yield from _judge_values(name, words, own, arguments)


def _judge_values(
    name: str, words: Collection[str], own: Collection[str], arguments: JsonObject
) -> Iterator[SideEffect]:
    """What the values of arguments make of a tool whose name says nothing against it."""
    told_to = next((key for key, value in arguments.items() if value is True and _DESTROYS.fullmatch(key)), "")
    addresses = _list_values(arguments, _BINDS)
    ended = next((key for key, value in arguments.items() if value == 0 and _COUNTS.fullmatch(key)), "")
    if ended and not _SCALES.isdisjoint(own):
        terms = ask_for_tool(name, _SCALES, arguments.values(), Effect.SCALE)
        yield SideEffect(EffectKind.HARM, f"stops all that runs by {name}: {ended} is 0", request=terms)
    elif told_to or ("archive" in own and arguments.get("permanently") is True):
        does = f"deletes something by {name}: {told_to or 'permanently'} is true"
        yield SideEffect(EffectKind.HARM, does)
    elif not _MOVES_HISTORY.isdisjoint(own) and (
        any(value is True and _FORCES.fullmatch(key) for key, value in arguments.items())
        or "hard" in _list_values(arguments, _WAYS)
    ):
        yield SideEffect(EffectKind.HARM, f"throws commits or changes away by {name}")
    elif "/dev/null" in _list_values(arguments, _TARGETS) and not _PLACES.isdisjoint(own):
        yield SideEffect(EffectKind.HARM, f"puts something where nothing stays by {name}")
    elif not _PASSES_ON.isdisjoint(own) and (
        not _TO_ALL.isdisjoint(own) or any(map(_EVERYWHERE.fullmatch, addresses))
    ):
        yield SideEffect(EffectKind.ADMIT, f"lets other machines in by {name}")
    elif not _RUNS_CONTAINERS.isdisjoint(words) and (
        found := _OF_CONTAINERS.search(json.dumps(arguments)[:_LONGEST])
    ):
        yield SideEffect(EffectKind.ELEVATE, f"gives a container rights over the machine by {name}: {found[0]}")


_ACTIONS = frozenset({"action", "operation", "method", "api", "verb"})


def _split_words(text: str) -> set[str]:
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z]+\d*[a-z]*|[A-Z]+(?![a-z])", text)}


def list_shell_texts(tool: str, arguments: JsonObject) -> Iterator[str]:
    """The commands among the arguments of a tool that is no shell by name, and the code that it runs."""
    words = _split_words(tool.partition("__")[2])
    types = not words.isdisjoint(_TYPES)
    runs = not _split_words(tool.rpartition("__")[2]).isdisjoint(_RUNS | {"cell"})
    for name, text in _walk(arguments):
        if types and _TYPED_NAME.fullmatch(name):
            yield text
        elif runs and _CODE_NAME.fullmatch(name):
            is_python = words.isdisjoint(_JAVASCRIPT) and read_python(text[:_LONGEST]) is not None
            yield f"{'python3 -c' if is_python else 'node -e'} {shlex.quote(text[:_LONGEST])}"
    for fields in _list_objects(arguments):
        more = [
            each
            for name in ("args", "arguments", "argv")
            if isinstance(behind := fields.get(name), list)
            for each in behind
            if isinstance(each, str)
        ]
        for name, value in fields.items():
            if not (_COMMAND_NAME.fullmatch(name) or (more and name.lower() in ("program", "executable"))):
                continue
            if isinstance(value, str):
                yield f"{value} {shlex.join(more)}" if more else value
            elif isinstance(value, list):
                yield shlex.join(each for each in value if isinstance(each, str))
        if not any(_COMMAND_NAME.fullmatch(name) for name in fields):
            yield from list_started_texts("", more)


def _list_objects(arguments: JsonObject) -> Iterator[JsonObject]:
    """These, and all objects among their values."""
    waiting: list[JsonValue] = [arguments]
    while waiting:
        match waiting.pop():
            case Mapping() as fields:
                yield fields
                waiting += fields.values()
            case list(items):
                waiting += items
            case _:
                continue


def list_statements(tool: str, arguments: JsonObject) -> tuple[str, ...]:
    """The statements in SQL among the arguments of a tool; what a search looks for is none."""
    if "search" in tool.casefold():
        return ()
    return tuple(text for name, text in _walk(arguments) if _SQL_NAME.fullmatch(name))


def reduce_arguments(tool: str, arguments: JsonObject, read_script: ReadScript) -> Iterator[SideEffect]:
    """What a tool of which nothing else is known does with the paths, texts and code that it is given."""
    name = tool.rpartition("__")[2]
    words = {each.lower() for each in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    is_posted = not _SENDING_METHODS.isdisjoint(each.upper() for each in _list_values(arguments, {"method"}))
    is_sender = is_posted or bool(words & _SENDS) or bool(words & _MAKES and words & _POSTS)
    is_writer = bool(words & _WRITES) or not {"content", "contents", "new_text"}.isdisjoint(arguments)
    reducer = Reducer(read_script)
    if _RUNS_CONTAINERS & _split_words(tool):
        from quorum.domain.review.effects.file_contents import judge_rights

        for _, text in _walk(arguments):
            yield from judge_rights(text) if "\n" in text else ()
    for key, text in _walk(arguments):
        if _PATH_NAME.fullmatch(key) and "\n" not in text:
            if secret := None if is_writer else find_secret(text):
                kind = EffectKind.SEND if is_sender else EffectKind.REVEAL
                yield SideEffect(kind, f"hands what is in {secret} over to {name}", secret)
            if is_writer or words & _PLACES:
                reducer.write_file(text, NO_DATA)
        elif (is_sender or _ADDRESS_NAME.fullmatch(key)) and find_pattern_spans(text[:_LONGEST]):
            yield SideEffect(EffectKind.SEND, f"sends what looks like a secret by {name}")
        if words & _RUNS and _CODE_NAME.fullmatch(key):
            yield from reduce_run_code(text[:_LONGEST], read_script)
            if _SESSION.search(text) and (address := _FOREIGN_ADDRESS.search(text)):
                yield SideEffect(
                    EffectKind.SEND, f"may send what the browser keeps to {address[1]}", address[1]
                )
    yield from reducer.effects


def _walk(arguments: JsonObject) -> Iterator[tuple[str, str]]:
    """All texts in the arguments, each with the name that it stands behind."""
    waiting: list[tuple[str, JsonValue]] = [*arguments.items()][::-1]
    while waiting:
        name, value = waiting.pop()
        match value:
            case str(text):
                yield name, text
            case dict(fields):
                waiting += [*fields.items()][::-1]
            case list(items):
                waiting += ((name, each) for each in reversed(items))
            case _:
                continue


# What tools of servers call the file and the texts of an edit, without its separators.
_PATHS = frozenset({"path", "filepath", "file", "filename", "targetfile", "relativepath", "absolutepath"})
_OLD_TEXTS = frozenset({"oldtext", "oldstring", "oldstr", "old", "search", "original"})
_NEW_TEXTS = frozenset({"newtext", "newstring", "newstr", "new", "replace", "replacement", "updated"})
_CONTENTS = frozenset({"content", "contents", "text", "filetext", "filecontent", "filecontents", "code"})


def _list_texts(arguments: JsonObject, names: Collection[str]) -> list[str]:
    edits = arguments.get("edits")
    inner = (each for each in (edits if isinstance(edits, list) else ()) if isinstance(each, dict))
    return [text[:_LONGEST] for fields in (arguments, *inner) for text in _list_values(fields, names)]


def _list_values(fields: JsonObject, names: Collection[str]) -> Iterator[str]:
    return (value for name, value in fields.items() if isinstance(value, str) and _join_words(name) in names)


@lru_cache(maxsize=256)
def _join_words(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _reduce_texts(path: str, texts: Iterable[str], read_script: ReadScript) -> dict[SideEffect, None]:
    """The effects of texts in a file that nobody should come upon unseen."""
    from quorum.domain.review.effects.file_contents import GRAVE_IN_FILES, judge_contents, list_commands

    found: list[SideEffect] = []
    for text in texts:
        found += judge_contents(path, text)
        if (off := _UNCHECKED.search(text)) and not _OF_TESTS.search(path):
            found.append(SideEffect(EffectKind.DISABLE, f"switches the check of other machines off: {off[0]}"))
        if path.endswith((".py", ".pyi", ".pth")):
            effects = reduce_program_text(textwrap.dedent(text), "python", read_script)
            found += (each for each in effects if each.kind is not EffectKind.SEND or _is_own(each))
        for code in _list_cells(text) if path.endswith(".ipynb") else ():
            found += reduce_run_code(code, read_script)
        for command in list_commands(path, text):
            found += reduce_command(command, read_script)
    return dict.fromkeys(each for each in found if each.kind in GRAVE_IN_FILES)


def _list_cells(text: str) -> Iterator[str]:
    """The code in the cells of a notebook, of the whole file or of a part of it."""
    try:
        notebook: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        yield "".join(
            json.loads(f'"{each}"', strict=False)
            for each in compile_once(r'"((?:\\["\\nt]|[^"\\\n])*)"').findall(text)
        )
        return
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source")
            lines = source if isinstance(source, list) else [source]
            yield "".join(each for each in lines if isinstance(each, str))


_UNKNOWN = "$x"
"""What stands for a text of which nothing is known."""


def _is_own(effect: SideEffect) -> bool:
    """Whether what is sent is no plain file, and none of which only the caller knows the name: programs send
    files for a living."""
    sent = compile_once(r"sends (?:what is in|the variable) (\S+)").match(effect.does)
    if sent is None or sent[1].startswith("~"):
        return True
    return sent[1] != _UNKNOWN and (sent[1].startswith("$") or find_secret(sent[1]) is not None)


def list_objections(effects: Iterable[SideEffect]) -> Iterator[Objection]:
    """What speaks against these effects; what only reads, writes or connects has no objection of its own."""
    for effect in effects:
        if guard := _find_guard(effect.kind):
            yield Objection(guard, f"it {effect.does}", effect.request)


def join_objections(of_words: Sequence[Objection], effects: Sequence[SideEffect]) -> tuple[Objection, ...]:
    """What speaks against the words of a command and against its effects, without repetition.

    An effect names object and place, which the words alone often do not, so it stands in for an objection of
    the same guard; but not for one that the person may have asked for.
    """
    found = [(each, effect.place) for effect in effects for each in list_objections((effect,))]
    named = {each.guard for each, _ in found} & _NAMED_BETTER
    kept = [each for each in of_words if each.guard not in named or each.request is not None]
    guards = {each.guard for each in kept if each.request is None} - _NAMED_BETTER
    new = [
        each
        for each, place in found
        if each.guard not in guards and not any(_is_about(known, each.guard, place) for known in kept)
    ]
    return tuple(dict.fromkeys((*kept, *new)))


_NAMED_BETTER = frozenset({"network", "secret", "persistence"})


def _is_about(objection: Objection, guard: str, place: str) -> bool:
    """Whether an objection already names a place, or a folder that it lies in."""
    words = (word.rstrip(",") for word in objection.reason.split() if "/" in word)
    return objection.guard == guard and bool(place) and any(place.startswith(word) for word in words)


def _find_guard(kind: EffectKind) -> str | None:
    match kind:
        case (
            EffectKind.SEND
            | EffectKind.RUN_FETCHED
            | EffectKind.RUN_HIDDEN
            | EffectKind.ADMIT
            | EffectKind.ATTACK
        ):
            return "network"
        case EffectKind.REVEAL:
            return "secret"
        case EffectKind.PERSIST:
            return "persistence"
        case EffectKind.ALTER:
            return "path"
        case (
            EffectKind.ELEVATE | EffectKind.DISABLE | EffectKind.DISGUISE | EffectKind.EXHAUST | EffectKind.HARM
        ):
            return "destructive"
        case EffectKind.READ | EffectKind.WRITE | EffectKind.DELETE | EffectKind.CONNECT | EffectKind.UNKNOWN:
            return None
