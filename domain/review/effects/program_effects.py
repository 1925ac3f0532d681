"""What a program does with its words and its input: a row of the table of programs, and how it is read."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from quorum.domain.review.effects.places import find_secret
from quorum.domain.review.effects.side_effect import NO_DATA, Data, DataKind, Datum
from quorum.domain.review.effects.surroundings import Scope
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.secrets.patterns import is_secret_name
from quorum.domain.text.pattern import compile_once


class Operand(StrEnum):
    """What the operands of a program are.

    SHOW: files whose contents come out. READ: files that are read, and nothing of them comes out. USE: files,
    or other words, that do not come out. WRITE: files that get what comes in. COPY: files, and last the place
    that they are copied to; TRANSFER: the same, and either may be on another machine. HOST: addresses. SEND:
    files that are sent. TEXT: what is printed. RUN: a file with code that is run.
    """

    SHOW = "show"
    READ = "read"
    USE = "use"
    WRITE = "write"
    COPY = "copy"
    TRANSFER = "transfer"
    HOST = "host"
    SEND = "send"
    TEXT = "text"
    RUN = "run"


class Input(StrEnum):
    """What a program does with what comes in to it: passes it on, sends it, runs it, or keeps it.

    FOLLOW: takes it as orders, and sends it where it names a host.
    """

    PASS = "pass"
    SEND = "send"
    RUN = "run"
    FOLLOW = "follow"
    KEEP = "keep"


class ProgramEffects(Struct, frozen=True, kw_only=True, dict=True):
    """What a program does with its words. Names and options are parted by blanks.

    `words`: what must follow the name for the row to hold, several parted by `|`. `values`: options that take a
    word which is neither file nor address. `shows`, `writes`, `sends` and `hosts`: options that take such a
    file or address; `posts`: options whose text is sent, with `@FILE` for a file; `notes`: options that take a
    file which is written to be read by others. `named`: options that take a name and then a word, which comes
    out. `first`: so many operands are text. `gives`: what comes out of it
    whatever goes in. `is_quiet`: nothing of what goes in comes out. `source`: the manual page.
    """

    names: str
    source: str
    words: str = ""
    values: str = ""
    shows: str = ""
    writes: str = ""
    sends: str = ""
    posts: str = ""
    notes: str = ""
    named: str = ""
    hosts: str = ""
    operands: Operand = Operand.USE
    first: int = 0
    gives: DataKind | None = None
    input: Input = Input.PASS
    is_quiet: bool = False

    @cached_property
    def with_value(self) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """The options that take a word, the letters of those that have one, and those in front of a name."""
        columns = (self.values, self.shows, self.writes, self.sends, self.posts, self.notes)
        options = frozenset(" ".join((*columns, self.named, self.hosts)).split())
        letters = frozenset(each[1] for each in options if len(each) == 2)
        return options, letters, frozenset(self.named.split())


class ParsedWords(Struct, frozen=True):
    """The words of a program apart: operands, and the values of options by option."""

    operands: tuple[str, ...]
    values: tuple[tuple[str, str], ...]

    def find(self, options: str) -> list[str]:
        """The values of any of these options."""
        if not self.values or not options:
            return []
        wanted = options.split()
        return [value for option, value in self.values if option in wanted]


def parse_words(arguments: Sequence[str], row: ProgramEffects) -> ParsedWords:
    """Tell operands from options and their values, in one word, in the next, or behind other letters."""
    with_value, letters, named = row.with_value
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if word == "--":
            operands += arguments[place:]
            break
        place += word in named  # the name
        if word in with_value:
            if place < len(arguments):
                values.append((word, arguments[place]))
                place += 1
            continue
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        option, has_value, value = word.partition("=")
        if has_value and option in with_value:
            values.append((option, value))
        elif not word.startswith("--"):
            known = range(
                1, len(word) if row.names else 2
            )  # such a word of an unknown program may be one option
            end = next((end for end in known if word[end] in letters), None)
            if end is not None and end + 1 < len(word):
                values.append((f"-{word[end]}", word[end + 1 :]))
            elif end is not None and place < len(arguments):
                values.append((f"-{word[end]}", arguments[place]))
                place += 1
    return ParsedWords(tuple(operands), tuple(values))


_GIVES_SECRETS = {
    "security": r"find-\w+-password|dump-\w+|export",
    "gcloud": r"print-(access|identity)-token|secrets versions access|print-refresh",
    "aws": r"export-credentials|get-session-token|get-secret-value|configure get|ecr get-login\S*|"
    r"assume-role\S*|get-parameter\S* .*--with-decryption|create-access-key|get-password-data",
    "az": r"get-access-token|keyvault secret (show|download)|keys? list|create-for-rbac",
    "kubectl": r"get\s+(\S+\s+)*secrets?\b.*(-o|--output)|config view.*--raw|create token",
    "oc": r"whoami -t|get secrets?\b.*-o",
    "vault": r"\b(read|kv get|print token|token)\b",
    "op": r"\b(read|item get|get item|inject)\b",
    "pass": r"^(show|-c)?\s*\S+",
    "gopass": r"^(show|cat|otp)\s",
    "conjur": r"variable get",
    "bw": r"\b(get|list|export)\b",
    "lpass": r"\b(show|export)\b",
    "secret-tool": r"\b(lookup|search)\b",
    "kwallet-query": r"",
    "gpg": r"--export-secret-\S+",
    "heroku": r"\bconfig\b",
    "doppler": r"\bsecrets\b",
    "ansible-vault": r"\b(view|decrypt)\b",
    **dict.fromkeys(("age", "rage"), r"(^|\s)(-d|--decrypt)\b"),
    "sops": r"-d\b|\bdecrypt\b",
    "terraform": r"\bstate (pull|show)|output .*-(raw|json)",
    "git": r"credential(-\w+)? (fill|get)|config .*(token|password|extraheader)",
    "gh": r"auth (token|status .*-t)",
    "npm": r"token list|config get .*_auth",
    **dict.fromkeys(("docker", "podman", "nerdctl", "crictl"), r"inspect .*Env"),
    "helm": r"^get (values|all)\b",
    "systemctl": r"show-environment|show\b.*(-p ?|--property[ =])\S*Environment",
    "launchctl": r"getenv|export",
    "rclone": r"config (show|dump)|reveal",
    "cf": r"^(env|oauth-token|service-key)\b",
    **dict.fromkeys(("rails", "rake"), r"\b(credentials|secrets|encrypted):(show|edit)\b"),
    "nmcli": r"-s\b|--show-secrets",
    "netsh": r"key=clear",
    "wg": r"show\b.*(private|preshared)|showconf",
    "cmdkey": r"/list",
    "pbpaste": r"",
    "wl-paste": r"",
    "xclip": r"-o\b|-out\b",
    "xsel": r"-o\b|--output|-b\b",
}
_PATTERNS = {program: re.compile(words) for program, words in _GIVES_SECRETS.items()}


def find_given_secret(run: Invocation) -> Datum | None:
    """The credentials that a program prints."""
    if run.program == "printenv":
        named = next(filter(is_secret_name, run.operands), None)
        return Datum(DataKind.SECRET, f"${named}") if named else None
    pattern = _PATTERNS.get(run.program)
    found: re.Match[str] | None = pattern.search(" ".join(run.arguments)) if pattern else None
    if found is None:
        return None
    return Datum(DataKind.SECRET, f"the credentials of {run.program} {found[0]}".strip())


SUBSTITUTION = re.compile(r"\$\(|`|[<>]\(")
WHOLE_SUBSTITUTION = re.compile(r"\$\(.*\)|`[^`]*`", re.DOTALL)
VARIABLE = re.compile(r"\$(?:\{[!#]?([A-Za-z_]\w*|[1-9@*])[^}]*\}|([A-Za-z_]\w*|[1-9@*]))")
SHELL = re.compile(r"(ba|da|z|k|a|fi|c|tc|mk|pdk|rba)?sh[0-9.]*")
PYTHON = re.compile(r"(python|pypy|ipython)[0-9.]*")
INPUTS = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Words for the input in the place of a file."""
REMOTE = re.compile(
    r"(?!/|\.|[A-Za-z]:\\)([\w.+$-]+@)?[\w.${}-]+::?(?!//)[^:]*"
    r"|(rsync|scp|ssh|sftp|ftps?|davs?|webdavs?|smb|s3|gs|azure|b2|oss|https?|cos|r2)://.*"
)
"""A place on another machine, as programs that copy files name it."""


class UsedProgram(Struct, frozen=True):
    """`piped` comes in by the input, `substituted` by what stands in the words for the output of programs."""

    name: str
    run: Invocation
    row: ProgramEffects
    words: ParsedWords
    piped: Data
    substituted: Data
    scope: Scope

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands without those that are texts."""
        if not self.row.first:
            return self.words.operands
        is_text_elsewhere = bool(self.words.find("-e -f --expression --file --regexp"))
        return self.words.operands if is_text_elsewhere else self.words.operands[self.row.first :]

    def has_option(self, pattern: str) -> bool:
        """Whether one of its words is such an option."""
        fits = compile_once(pattern).fullmatch
        return any(map(fits, self.run.arguments))

    def find_data(self, *words: str) -> Data:
        """What words hold beside their own letters."""
        found = NO_DATA
        for word in words:
            if "$" in word or "`" in word or "(" in word:
                found |= self.scope.find_data(word, self.substituted)
        return found

    def read(self, *paths: str) -> Data:
        """The data of words that name files."""
        return NO_DATA.union(*(self.scope.read(path, self.substituted) for path in paths))


def read_notes(used: UsedProgram) -> Data:
    """What texts that somebody wrote for others to read hold of anything else."""
    data: Data = NO_DATA
    for path in used.words.find(used.row.notes):
        read = used.piped if path in ("-", "/dev/stdin") else used.read(path)
        is_text = path.endswith((".md", ".markdown", ".txt", ".rst", ".adoc", ".org"))
        data |= frozenset(each for each in read if each.kind is not DataKind.FILE) if is_text else read
    return data


_TAKES_ADDRESSES = frozenset({"curl", "curlie", "wget", "wget2", "aria2c"})
_UNVERIFIED = r"-[a-zA-Z#]*k[a-zA-Z]*|--insecure|--no-check-certificate|--check-certificate=false"
_NO_HOST = re.compile(r"-|@\S+|\+\S+|[A-Z]+")


def list_hosts(used: UsedProgram) -> list[str]:
    """Where a program connects to, at least one place; what it sends it sends to each."""
    hosts = [*used.words.find(used.row.hosts), *used.words.operands]
    shown = [each for each in hosts if not VARIABLE.fullmatch(each) and not _NO_HOST.fullmatch(each)]
    shown = [each for each in shown if each[:1] not in "/~." or not find_secret(each)]
    named = [each for each in shown if "://" in each or "." in each or ":" in each]
    found = named or shown[:1] or ["another machine"]
    return [*found, *_list_betweens(used, found)] if used.name in _TAKES_ADDRESSES else found[:1]


def _list_betweens(used: UsedProgram, hosts: Sequence[str]) -> Iterator[str]:
    """Those in between, who see what is sent or answer in the place of the host where nothing verifies that."""
    if all(each.startswith("https://") for each in hosts) and not used.has_option(_UNVERIFIED):
        return
    yield from used.words.find("-x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname")
    for word in used.words.find("--connect-to --resolve"):
        if target := ":".join(word.split(":")[2:]):
            yield target


def drop_kind(data: Data, kind: DataKind) -> Data:
    """The data that are not of this kind."""
    return frozenset(each for each in data if each.kind is not kind)


_DECODERS = frozenset(
    {
        *("base64", "gbase64", "basenc", "base32", "xxd", "rev", "openssl", "tr", "uudecode", "gunzip", "zcat"),
        *("bunzip2", "unxz", "gpg", "gzip"),
    }
)


def find_encoding(run: Invocation) -> str | None:
    """The encoding that a program undoes in what comes in; None where it undoes none."""
    if run.program not in _DECODERS:
        return None
    given = set(run.arguments)
    letters = "".join(word[1:] for word in run.arguments if re.fullmatch(r"-[a-zA-Z]+", word))
    decodes = bool({"d", "D"} & set(letters)) or bool(given & {"--decode", "--decrypt", "-decrypt"})
    match run.program:
        case "base64" | "gbase64" | "basenc" if decodes:
            return "base64"
        case "base32" if decodes:
            return "base32"
        case "xxd" if "r" in letters:
            return "hex"
        case "rev":
            return "rev"
        case "openssl" if decodes:
            return "base64" if given & {"base64", "-base64", "-a"} else "other"
        case "tr" if _changes_letters(run):
            return "other"
        case "uudecode" | "gunzip" | "zcat" | "bunzip2" | "unxz":
            return "other"
        case "gpg" | "gzip" if decodes:
            return "other"
        case _:
            return None


def _changes_letters(run: Invocation) -> bool:
    """Whether other letters come out than a change between small and capital ones gives."""
    sets = [word for word in run.arguments if not word.startswith("-")]
    is_case = {each.strip("[]'").lower() for each in sets} <= {":upper:", ":lower:", "a-z"}
    return not is_case and any(re.fullmatch(r"\[?[A-Za-z]-[A-Za-z].*", each) or len(each) > 12 for each in sets)


def decode(encoding: str, text: str | None) -> str | None:
    """The text that comes out, if it can be told."""
    if text is None:
        return None
    raw = "".join(text.split())
    try:
        match encoding:
            case "base64":
                return base64.b64decode(raw + "=" * (-len(raw) % 4)).decode("utf-8", "replace")
            case "base32":
                return base64.b32decode(raw).decode("utf-8", "replace")
            case "hex":
                return bytes.fromhex(raw).decode("utf-8", "replace")
            case "rev":
                return "\n".join(line[::-1] for line in text.split("\n"))
            case _:
                return None
    except (ValueError, binascii.Error):
        return None


def unescape(text: str) -> str:
    """A text without escapes in octal and hexadecimal."""
    return re.sub(
        r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{3}))",
        lambda found: chr(int(found[1], 16) if found[1] else int(found[2], 8) & 0xFF),
        text,
    )
