"""Credentials that a program prints which somebody has stored: by what it is told to do, whichever it is.

Clients of services name such tasks alike: a word for showing beside one for what is kept. A word that names
what comes out, such as `print-access-token`, needs no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.secrets.patterns import is_secret_name

_MOST_WORDS = 4
_QUALIFIERS = (
    r"access|identity|id|i?auth|oauth2?|refresh|bearer|session|api|login|initial|admin|root|service|db|database|"
    r"kube|client|private|master|deploy|registry|connection|user|sso|jwt|secret|account"
)
_OBJECTS = r"tokens?|passwords?|passwd|keys?|secrets?|credentials?|creds|jwt"
_CONNECTION = r"(?:db-|database-)?connection-(?:strings?|uris?|urls?|info)"
_SHOWS = (
    r"print|get|show|reveal|export|decrypt|display|view|generate|create|issue|mint|fetch|dump|read|copy|decode"
)
_NAMED_TASK = re.compile(
    rf"(?:{_SHOWS})-(?:(?:(?:{_QUALIFIERS})-)*(?:{_OBJECTS})(?:-value|-data|-to-[\w-]+)?|{_CONNECTION})"
)
_QUALIFIED = re.compile(rf"(?:(?:{_QUALIFIERS})-)+(?:{_OBJECTS})|{_CONNECTION}")
_NO_SECRETS = re.compile(
    r"(?:get|show|view|print|read|export|fetch|copy|dump|create|generate|display|decode)-(?:service-|user-)?keys?"
    r"|(?:user|account|service|id)-(?:keys?|ids?)|get-credentials"
)
"""Keys of tables and of people, and what puts credentials into a settings file without showing them."""
_KEPT = re.compile(r"secrets?|credentials?|creds|passwords?|passwd|keyring|keychain|vault")
_TELLS = re.compile(
    r"get|read|show|export|print|reveal|view|cat|dump|decrypt|pull|download|fetch|getall|get-all|copy|clip|display"
)
_SAYS_WHERE = re.compile(r"url|uri|value|connection|dsn|plaintext")
_HOLDS_DATA = re.compile(r"(?:db|databases?|pg|mysql|redis|mongo)")
_MADE = re.compile(r"tokens?|passwords?|api-keys?|access-keys?|pat|jwt|credentials?|deploy-keys?")
_MAKES = re.compile(r"create|generate|issue|mint|new|print|show|get|view|gen")
_VARIABLES = re.compile(
    r"variables|vars|env|envs|environment|env-?vars?|config-vars|dotenv|printenv|secrets-env|get-?env-?vars"
)
_OF_MACHINE = re.compile(r"envs?|environment")
"""Without a verb, what a program says of the machine that it runs on."""
_TELLS_VARIABLES = re.compile(rf"{_TELLS.pattern}|list")
_OF_LOGIN = re.compile(r"i?auth|oauth2?|admin|iam|sso|session|account|root|cluster|master")
_CHANGES = re.compile(
    r"set|unset|add|put|delete|del|remove|rm|destroy|revoke|rotate|reset|login|logout|use|import|validate|verify|check"
    r"|lint|scan|encrypt|write|update|edit|push|create|init|help|list|ls|describe|rename|sync|diff|status|activate"
    r"|info|find|path|freeze|upgrade|install|run|exec|build|test"
)
_UNMASKS = re.compile(
    r"--(?:show|reveal|unmask|display|expose)-?(?:secrets?|passwords?|credentials|sensitive(?:-values?)?"
    r"|tokens?|plain-?text)(?:=true)?|--with-decryption|--(?:unmasked|unredacted|no-mask|no-masking|no-redact|reveal)"
)
_SETTINGS = re.compile(
    r"config|configuration|settings|values|outputs?|variables|vars|env|profile|credentials?|auth"
)
_UNMASKS_SETTINGS = re.compile(
    r"--(?:raw|plain|plain-?text|decrypt(?:ed)?|unmask|show-values?|reveal)(?:=true)?"
)
_STORE = re.compile(r"keepass|credstash|keychain|keyring|bitwarden|1password|-vault|passman")
_STORES = frozenset(
    {
        *("rbw", "dcli", "chamber", "credstash", "teller", "gopass", "enpass", "nordpass", "lastpass", "kpcli"),
        *(
            "infisical",
            "akeyless",
            "berglas",
            "envwarden",
            "phase",
            "knox",
            "confidant",
            "summon",
            "himitsu",
            "prs",
        ),
        *(
            "biscuit",
            "passage",
            "tomb",
            "envkey",
            "envkey-source",
            "vlt",
            "pass-cli",
            "proton-pass",
            "keyringctl",
        ),
    }
)
"""Programs that keep nothing but credentials."""
_TELLS_STORED = re.compile(rf"{_TELLS.pattern}|access|otp|totp|password|note|env|lookup|printenv|inject")
_LOCAL = frozenset(
    {
        *("conda", "mamba", "micromamba", "poetry", "hatch", "pipenv", "pdm", "mise", "asdf", "opam", "direnv"),
        *(
            "spack",
            "guix",
            "nix",
            "go",
            "sdk",
            "jenv",
            "rbenv",
            "nodenv",
            "fnm",
            "volta",
            "pixi",
            "rye",
            "uv",
            "tox",
        ),
        *(
            "nox",
            "ghcup",
            "conan",
            "vcpkg",
            "ros2",
            "colcon",
            "dotnet",
            "just",
            "task",
            "gradle",
            "luarocks",
            "zig",
        ),
        *(
            "deno",
            "swift",
            "elixir",
            "mix",
            "rebar3",
            "gum",
            "module",
            "devbox",
            "devenv",
            "pyenv",
            "virtualenv",
        ),
    }
)
"""Their environments are places where programs are installed."""
_MAY_NAME = (
    *("token", "pass", "key", "secret", "cred", "jwt", "pat", "connection", "url", "uri", "value", "dsn"),
    *("plaintext", "vault", "var", "env"),
)
"""One of these is in each word for a credential, for its place, or for variables. Most hear none of them."""
_TASK = re.compile(r"[\w:-]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


_LOOKS_FOR = frozenset({"scan", "lint", "audit", "--scan", "--scan-history", "--install", "--register-aws"})
"""What scanners are told that look for secrets in code."""


def tells_stored_secrets(run: Invocation) -> bool:
    """Whether it is told to print credentials, or settings with the credentials in them."""
    options = [word for word in run.arguments if word.startswith("--")]
    if any(map(_UNMASKS.fullmatch, options)):
        return True
    is_store = run.program in _STORES or _STORE.search(run.program) is not None
    told = " ".join(run.arguments[:_MOST_WORDS]).lower()
    if not (options or is_store or any(map(told.__contains__, _MAY_NAME))):
        return False
    words = list(_split(run))
    if any(map(_UNMASKS_SETTINGS.fullmatch, options)) and any(map(_SETTINGS.fullmatch, words)):
        return True
    if is_store:
        return any(map(_TELLS_STORED.fullmatch, words[:2]))
    if not _LOOKS_FOR.isdisjoint((*words, *options)):
        return False
    return _names_secrets(words) or (run.program not in _LOCAL and _lists_variables(words))


def _split(run: Invocation) -> Iterator[str]:
    """The first words that it is told, in which colons and capitals stand for the blanks between others."""
    for word in takewhile(lambda each: not each.startswith("-"), run.arguments[:_MOST_WORDS]):
        parts = word.split(":") if _TASK.fullmatch(word) else (word,)
        yield from (_CAMEL.sub("-", part).lower().replace("_", "-") for part in parts if part)


def _names_secrets(words: Sequence[str]) -> bool:
    task = words[:3]
    if any(_NAMED_TASK.fullmatch(word) and not _NO_SECRETS.fullmatch(word) for word in task):
        return True
    if any(map(_CHANGES.fullmatch, task)):
        makes = any(map(_MADE.fullmatch, task)) and any(map(_MAKES.fullmatch, task))
        return makes and not any(word in ("list", "ls", "delete", "revoke") for word in task)
    if any(_QUALIFIED.fullmatch(word) and not _NO_SECRETS.fullmatch(word) for word in task):
        return True
    if words == ["secrets"] or (words[-1:] in (["token"], ["password"]) and _OF_LOGIN.fullmatch(words[-2:][0])):
        return True
    if any(map(_SAYS_WHERE.fullmatch, words)) and any(
        _KEPT.fullmatch(word) or _HOLDS_DATA.fullmatch(word) for word in words
    ):
        return True
    tells = any(map(_TELLS.fullmatch, words))
    makes = any(map(_MADE.fullmatch, words)) and any(map(_MAKES.fullmatch, words))
    return makes or (tells and any(_KEPT.fullmatch(word) or is_secret_name(word) for word in words))


def _lists_variables(words: Sequence[str]) -> bool:
    """Whether it lists the variables that a service keeps: what is changed or named there is not shown."""
    place = next((at for at, word in enumerate(words[:2]) if _VARIABLES.fullmatch(word)), None)
    if place is None:
        return False
    others = [*words[:place], *words[place + 1 :]]
    if words[place] == "printenv" or (not others and not _OF_MACHINE.fullmatch(words[place])):
        return True
    told = [word for word in others if _CHANGES.fullmatch(word) or _TELLS_VARIABLES.fullmatch(word)]
    return bool(told) and all(map(_TELLS_VARIABLES.fullmatch, told))
