"""What goes over the network: files sent away, downloads and packages that are run, shells for others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quorum.domain.review.hazards.invocation import Carried, Invocation, is_rehearsed
from quorum.domain.review.hazards.started_programs import skip_values
from quorum.domain.review.objection import Objection

_RUNNERS = frozenset({"npx", "pnpx", "bunx", "uvx"})
_RUN_COMMANDS = {
    "npm": frozenset({"exec", "x"}),
    "pnpm": frozenset({"dlx"}),
    "yarn": frozenset({"dlx"}),
    "bun": frozenset({"x"}),
    "pipx": frozenset({"run"}),
    "uv": frozenset({"tool"}),
}
PACKAGE_RUNNERS = _RUNNERS | _RUN_COMMANDS.keys()
_PACKAGE_OPTIONS = ("-p", "--package", "--from", "--with", "--spec")
_OTHER_VALUES = ("-w", "--workspace", "--prefix", "-C", "--dir", "--cwd", "--filter", "--python")
_ADDRESS = re.compile(
    r"git\+.+|(.+@)?(github|gitlab|bitbucket|gist):.+|(.+@)?(https?|git|ssh)://.+\.(tgz|tar\.gz|zip|whl|git)([#?].*)?"
)
_HOSTED = re.compile(r"\w[\w.-]*/[\w.-]+(#.*)?")  # owner/name; a scope of the registry begins with @


def list_foreign_packages(run: Invocation) -> Iterator[Objection]:
    """Packages that are run from an address or a repository, not by their name in the registry."""
    words: Sequence[str] = run.arguments
    if run.program not in _RUNNERS:
        if run.program not in _RUN_COMMANDS:
            return
        command, *words = skip_values(run.program, words) or ("",)
        if command not in _RUN_COMMANDS[run.program]:
            return
    packages = [*run.find_values(*_PACKAGE_OPTIONS)]
    values = {*packages, *run.find_values(*_OTHER_VALUES)}
    first = next((word for word in words if not word.startswith("-") and word not in values), "")
    is_hosted = any(map(_HOSTED.fullmatch, (first, *packages))) and run.program not in ("uvx", "uv", "pipx")
    if is_hosted or any(map(_ADDRESS.fullmatch, (*words, *packages))):
        yield Objection("network", f"{run.program}: it runs a package from elsewhere")


FILE_CLIENTS = frozenset({"sftp", "lftp", "ftp", "tnftp", "ncftp", "smbclient"})
_DELETES_THERE = re.compile(
    r"(?:^|[;\n])[ \t]*-?(?:(?:glob[ \t]+(?:-a[ \t]+)?)?(?:m?rm|rmdir|m?del(?:ete)?|deltree)\b"
    r"|mirror\b[^;\n]*--delete)"
)


def list_deleted_there(run: Invocation) -> Iterator[Objection]:
    """What clients are told, in commands of their own, to delete on another machine."""
    if run.program not in FILE_CLIENTS:
        return
    texts = (*run.find_values("-e", "-c"), run.text or "")
    if any(map(_DELETES_THERE.search, texts)):
        yield Objection("destructive", f"{run.program}: it deletes files of another machine")


DOWNLOADERS = frozenset({"curl", "wget", "fetch", "aria2c", "lwp-request", "http", "https", "lynx", "axel"})
_NETCATS = frozenset({"nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "socat", "telnet"})
_MAILERS = frozenset({"mail", "mailx", "mutt", "sendmail", "msmtp", "swaks"})
_SENDS_INPUT = _NETCATS | _MAILERS | {"ftp", "tftp", "ssh"}
_NAMERS = frozenset({"dig", "nslookup", "host", "ping", "drill"})
_HTTP = frozenset({"curl", "wget", "http", "https"})
CONNECTING = (
    _HTTP
    | _NETCATS
    | _MAILERS
    | _NAMERS
    | {"scp", "rsync", "sftp", "ssh", "ftp", "tftp", "ncftpput", "lftp", "rclone", "openssl"}
)
_LOCAL = re.compile(r"(https?://)?(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?|0\.0\.0\.0)(:\d+)?(/.*)?")
_REMOTE = re.compile(
    r"(?!/|\.|[A-Za-z]:\\)([\w.+$-]+@)?[\w.${}-]+:(?!//)[^:]*|(rsync|scp|sftp|ftp|s3|gs|azure)://.*"
)
_SOCKET = re.compile(r"/dev/(tcp|udp)/")
_DATA = ("-d", "--data", "--data-binary", "--data-raw", "--data-ascii", "--data-urlencode", "--json")
_FORMS = ("-F", "--form")
_SECRET = frozenset({Carried.CREDENTIAL, Carried.ENVIRONMENT})
_KEPT = _SECRET | {Carried.FILE}


def list_transfers(run: Invocation) -> Iterator[Objection]:
    """What a command sends away, and whom it lets in."""
    if run.program not in CONNECTING and not run.redirects:
        return
    if not any(_LOCAL.fullmatch(word) for word in run.operands):
        yield from _list_sent(run)
    yield from _list_shells(run)


def _list_sent(run: Invocation) -> Iterator[Objection]:
    sent = () if is_rehearsed(run) else (*_find_uploads(run),)
    if sent:
        yield Objection("network", f"{run.program}: it sends {sent[0]} away")
    if (_takes_input(run) and _KEPT & run.carried) or (_fills_in(run) and _SECRET & run.carried):
        yield Objection("network", f"{run.program}: it sends away what it is given")
    elif run.program in _NAMERS and _SECRET & run.carried:
        yield Objection("network", f"{run.program}: it sends away what it is given, in names that it looks up")
    elif run.program in _NETCATS | _MAILERS and any(each.operator == "<" for each in run.redirects):
        yield Objection("network", f"{run.program}: it sends a file away")
    if any(_SOCKET.match(redirect.target) for redirect in run.redirects):
        yield Objection("network", f"{run.program}: it is joined to another machine")


def _find_uploads(run: Invocation) -> Iterator[str]:
    match run.program:
        case "curl":
            yield from (name for name in run.find_values("-T", "--upload-file") if name != "-")
            yield from (data[1:] for data in run.find_values(*_DATA) if re.match(r"@[^-]", data))
            yield from (
                form.partition("=")[2][1:] for form in run.find_values(*_FORMS) if re.search(r"=[@<]", form)
            )
        case "wget":
            yield from run.find_values("--post-file", "--body-file")
        case "scp" | "rsync" | "sftp":
            operands = run.operands
            if len(operands) > 1 and _REMOTE.fullmatch(operands[-1]) and not _REMOTE.fullmatch(operands[-2]):
                yield operands[-2]
        case "ftp" | "tftp" | "ncftpput" | "lftp":
            if re.search(r"\b(m?put|mirror -R)\b", f"{run.text or ''} {' '.join(run.arguments)}"):
                yield "files"
        case "mail" | "mailx" | "mutt" | "swaks":
            yield from run.find_values("-a", "-A", "--attach")
        case "rclone":
            if run.arguments[:1] in (("copy",), ("copyto",), ("move",)) and ":" in "".join(run.operands[-1:]):
                yield from run.operands[1:2]
        case _:
            return


def _takes_input(run: Invocation) -> bool:
    """Whether a program sends what comes in to it, or what a substitution puts into its words."""
    if run.program in _SENDS_INPUT:
        return not _fills_in(run) or _has_address(run)
    if run.program not in _HTTP:
        return False
    given = [*run.find_values(*_DATA), *run.find_values("-T", "--upload-file", "--post-file", "--body-file")]
    forms = [form.partition("=")[2] for form in run.find_values(*_FORMS)]
    if any(each in ("-", "@-", "@.", "/dev/stdin") for each in (*given, *forms)):
        return True
    # A word that is all substitution is an address; data stands behind something else.
    return any("$" in data or "`" in data for data in given) or any(
        re.match(r"[^$`]+[$`]", word) for word in run.arguments
    )


def _fills_in(run: Invocation) -> bool:
    """Whether what comes in becomes words of a program that would else send it."""
    return run.program in _SENDS_INPUT and not {"xargs", "parallel"}.isdisjoint(run.wrappers)


def _has_address(run: Invocation) -> bool:
    """Whether words are put behind an address and not as one. A word behind an option may be its value."""
    words = run.arguments
    place = next((place for place, word in enumerate(words) if "{}" in word), len(words))
    pairs = zip(("", *words), words[:place], strict=False)
    return any(not before.startswith("-") and not word.startswith("-") for before, word in pairs)


def _list_shells(run: Invocation) -> Iterator[Objection]:
    if run.program in _NETCATS:
        words = " ".join(run.arguments)
        if re.search(r"(^|\s)-[a-zA-Z]*[ec]\b|--(sh-)?exec|(EXEC|SYSTEM):|\bPTY\b", words):
            yield Objection("network", f"{run.program}: it gives another machine a shell")
    if run.program == "openssl" and run.arguments[:1] == ("s_client",) and run.carried:
        yield Objection("network", "openssl: it sends away what it is given")
