"""The environment that a command gets, and the text that tells a model how it ended.

The environment is ours without secrets and without what bends the programs that the command runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Mapping, Sequence

from quorum.domain.errors import ToolError
from quorum.domain.secrets.patterns import find_pattern_spans, holds_a_secret
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.commands.orphans import MARKER_PREFIX
from quorum.infrastructure.execution.commands.process import Ending


def render_result(ending: Ending, output: str, timeout_secs: int | None, more: Sequence[str] = ()) -> str:
    """The text of a result: the output, how the command exited, what had to be done about its processes and
    what `more` there is to say.

    Raises ToolError, with the same in its text, where the command could not be started, ran out of time, or
    nobody knows how it ended.
    """
    further = [*list_remarks(ending), *more]
    if ending.failure is not None:
        raise ToolError("\n".join([f"the command could not be started: {ending.failure}", *more]))
    if ending.timed_out:
        problem = (
            f"ended after {timeout_secs} s, its time limit; give it a larger timeout_secs if it needs more"
        )
        raise ToolError(_format_partial(f"the command was {problem}", output, further))
    if ending.exit_code is None:
        raise ToolError(_format_partial("how the command ended is not known", output, further))
    lines = [output] if output else []
    if ending.exit_code >= 0:
        lines.append(f"exit code {ending.exit_code}")
    else:
        lines.append(f"killed by {name_signal(-ending.exit_code)}")
    return "\n".join([*lines, *further])


def _format_partial(problem: str, output: str, further: list[str]) -> str:
    said = f"what it had printed until then:\n{output}" if output else "it had printed nothing"
    return "\n".join([f"{problem}; {said}", *further])


def list_remarks(ending: Ending) -> list[str]:
    """What had to be done about processes that a command left behind, a sentence each."""
    said: list[str] = []
    if ending.supervisor_lost:
        said.append(
            "the process that watches over the command was killed or stopped from within it; "
            f"{_count(ending.ended, 'process')} of the command {_format_were(ending.ended)} found and ended"
        )
    elif ending.ended and not ending.timed_out:
        said.append(f"{_count(ending.ended, 'background process')} {_format_were(ending.ended)} ended")
    if ending.left:
        ids = ", ".join(map(str, ending.left))
        said.append(f"{_count(len(ending.left), 'process')} could not be ended and may still run: {ids}")
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}es"


def _format_were(number: int) -> str:
    return "was" if number == 1 else "were"


def name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has a number only
        return f"signal {number}"


# More names than the mask goes by: a command gets along with a variable too few. Behind the kind may stand for
# what or where the secret is, as in API_KEY_2 and STRIPE_KEY_LIVE.
_KINDS = (
    "API_?KEYS?|ACCESS_?KEYS?|PRIVATE_?KEYS?|SECRET_?KEYS?|KEYS?|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|PWD|PW"
    "|CREDENTIALS?|CREDS?|AUTH|DSN|CONNECTION_?STRINGS?|CONN_?STR|COOKIES?|JWT|BEARER|PAT|WEBHOOK(?:_URL)?"
)
_SECRET_NAME = (
    rf"(?s)(?:.*_)?(?:{_KINDS})(?:_(?:ID|BASE|B64|BASE64|JSON|PROD|PRODUCTION|LIVE|DEV|TEST|STAGING|\d+))*\d*"
    r"|.*(?:APIKEY|ACCESSKEY|SECRETKEY|PRIVATEKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS|SSHPASS)"
)
# A value that signs in somewhere, whatever it is called: of an address, a connection string, a data source.
_SECRET_VALUE = (
    r"(?i)(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/@]{0,200}:[^\s@]{1,300}@"
    r"|(?:^|[;&?\s])(?:password|passwd|pwd|accountkey|sharedaccesskey|secret|token|sig|api_?key)\s*=\s*[^\s;&]"
    r"|^[^\s:/@]+:(?!//)[^\s@]+@(?:[a-z]+\(|[\w.-]+[:/])"
)
# Needed, and no secret by themselves; without a proxy's password there is no network.
_NEVER_SECRET = frozenset(
    {"PATH", "HOME", "PWD", "OLDPWD", "SHELL", "USER", "LOGNAME", "LANG", "TZ", "LS_COLORS", "SSH_AUTH_SOCK"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"}
)
_HAZARDS = (
    "LD_*",
    "DYLD_*",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASHOPTS",
    "SHELLOPTS",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "PROMPT_COMMAND",
    "PS4",
    "GIT_*",
    # They change which words of a command are options.
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
    "GREP_OPTIONS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
)
_OURS = "QUORUM_"
_KEPT = ("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_SSL_CA*", MARKER_PREFIX + "*")
_ADDED = {
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
}


def build_command_environment(inherited: Mapping[str, str], secret_names: Collection[str]) -> dict[str, str]:
    """The environment a command gets.

    Left out: the given names, names that look like a secret's, our own settings (QUORUM_*, which may hold
    headers with keys), and names that change what the loader, the shell or git run, or which words of a
    command are options (git's author, committer and certificates stay). Added: what keeps programs from
    paging, prompting and opening editors. PATH loses its relative entries, so that a folder cannot bring its
    own `ls`. CI is left alone: tools change their results by it, while a null standard input and a dumb
    terminal already keep them from asking.
    """
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in secret_names and (_matches(name, _KEPT) or not _is_withheld(name, value))
    }
    path = kept.get("PATH", os.defpath)
    kept["PATH"] = os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
    return {**kept, **_ADDED}


def compute_environment_delta(inherited: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str | None]:
    """What a command's environment adds to the inherited one, or takes away (None)."""
    names = sorted({*inherited, *given})
    return {name: given.get(name) for name in names if inherited.get(name) != given.get(name)}


def _is_withheld(name: str, value: str) -> bool:
    return _matches(name, _HAZARDS) or name.upper().startswith(_OURS) or _is_secret(name.upper(), name, value)


def _is_secret(capitals: str, name: str, value: str) -> bool:
    if capitals in _NEVER_SECRET:
        return False
    if compile_once(_SECRET_NAME).fullmatch(capitals) or holds_a_secret(name, value):
        return True
    return compile_once(_SECRET_VALUE).search(value) is not None or bool(find_pattern_spans(value))


def _matches(name: str, patterns: Collection[str]) -> bool:
    """Whether one of them is the name, or what it begins with where a star is behind it."""
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in patterns
    )
