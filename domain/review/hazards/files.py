"""What commands do to files: deletion, writing to the system, reading of credentials."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from quorum.domain.review.hazards.generated_files import (
    changes_only_folders,
    changes_rights_inside,
    deletes_only_empty,
    deletes_only_generated,
    deletes_only_temporary,
    deletes_only_what_is_remade,
)
from quorum.domain.review.hazards.invocation import Carried, Invocation
from quorum.domain.review.hazards.places import (
    belongs_to_system,
    holds_credentials,
    is_device,
    is_log,
    is_public_key,
    is_remade,
    is_temporary,
    normalize,
    runs_on_its_own,
)
from quorum.domain.review.hazards.program_table import SPECIAL_BITS, WHOLE_FOLDERS, list_harmful_uses
from quorum.domain.review.objection import Objection
from quorum.domain.review.plain_request import Effect, RequestTerms
from quorum.domain.shell.script import Script

_WRITES_TO = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_TO_LAST = frozenset({"cp", "mv", "install", "ln", "rsync", "scp"})
_TO_ALL = frozenset({"tee", "touch", "mkdir", "mknod", "mkfifo", "truncate"})
_READERS = frozenset(
    {
        *("cat", "tac", "nl", "less", "more", "most", "bat", "batcat", "head", "tail", "grep"),
        *("egrep", "fgrep", "rg", "ag", "awk", "gawk", "mawk", "sed", "cut", "sort", "uniq"),
        *("strings", "xxd", "od", "hexdump", "base64", "base32", "cp", "mv", "install", "ln", "tar"),
        *("zip", "7z", "gzip", "bzip2", "xz", "scp", "rsync", "rclone", "curl", "wget", "dd", "rev"),
        *("vi", "vim", "nano", "emacs", "diff", "cmp", "openssl", "nc", "ncat", "netcat", "socat"),
        *("john", "hashcat", "jq", "yq", "paste", "fold", "sqlite3", ".", "source", "aws", "gsutil"),
        *("s3cmd", "ssh-add", "mail", "mutt", "ftp", "sftp", "tftp", "read", "mapfile"),
    }
)
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "findstr"})
_SECRET_WORDS = re.compile(
    r"(?i)passw(or)?d|passwd|api[_.-]?key|secret|private[_ .]key|begin (rsa|openssh|ec|dsa)|access_key"
)
_WIDE = re.compile(r"/|~|/(etc|home|root|var|opt|srv|Users)?/?|/home/.*|~/.*|\$HOME.*")
# Servers of development keep nothing; a bare name of an interpreter is that of anything.
_SERVERS = re.compile(
    r"""
      (?:(?:node\ (?:\S*/)?)?(?:vite|next(?:-server)?|nuxt|webpack(?:-dev-server)?|nodemon|ts-node-dev|astro
           |storybook|esbuild|parcel|ng\ serve|react-scripts|browser-sync|live-server|http-server
           |json-server|uvicorn|hugo|jekyll)
      | (?:npm|pnpm|yarn|bun)\ (?:run\ )?(?:dev|start|serve|preview)
      | (?:(?:python3?|uv\ run)\ )?(?:-m\ )?(?:http\.server|(?:\./)?manage\.py\ runserver|flask\ run
           |mkdocs\ serve)
      | (?:(?:bin/)?rails|php\ artisan)\ (?:s|server|serve))(?:\ [\w\ ./:=-]+)?
    | php\ -S\ [\w.:-]+
    """,
    re.VERBOSE,
)
_MAY_LOSE_NOTHING = frozenset(
    {
        *("rm", "rmdir", "unlink", "git", "find", "gfind", "bfs"),
        *("chmod", "chown", "chgrp", "pkill", "killall", "fuser"),
    }
)
_ASKS_TO_END = re.compile(r"-f|--full|-x|-e|-q|-(SIG)?(TERM|INT|KILL|HUP)|-(1|2|9|15)")
_OPEN_PORT = re.compile(r"(?!0|10[01]\d/)\d{4,5}/(tcp|udp)")
_KEY_NAMES = re.compile(r"\*?(id_(rsa|dsa|ecdsa|ed25519).*|\.pem|\.ppk|\.kdbx|\.netrc|\.pgpass|credentials)\*?")


def list_deletions(run: Invocation, roots: Sequence[str] = ()) -> Iterator[Objection]:
    """Deletion by `rm` of what nobody can make anew, and moving to where nothing stays."""
    if run.program == "rm" and not {"--help", "--version"}.intersection(run.arguments):
        kept = [word for word in run.operands if not is_remade(word) and not is_temporary(word, roots)]
        if kept or not run.operands:
            yield Objection("destructive", "rm: it deletes files", RequestTerms(effect=Effect.DELETE))
    if run.program == "mv" and run.operands[-1:] == ("/dev/null",):
        yield Objection("destructive", "mv: it moves files to where nothing stays")
    if run.program in ("cp", "cat") and run.operands[:1] == ("/dev/null",) and tuple(list_written(run)):
        yield Objection("destructive", f"{run.program}: it empties files", RequestTerms(effect=Effect.EMPTY))
    if run.program in ("cp", "cat", "dd") and any(is_log(word) for word in list_written(run)):
        yield Objection("destructive", f"{run.program}: it overwrites logs")


def list_harm(run: Invocation, roots: Sequence[str], script: Script | None = None) -> Iterator[Objection]:
    """What the tables have against a program, and deletions, but for what loses nothing.

    With the script that it stands in, names below the folder that this begins in are known for what they are.
    """
    if run.program not in _MAY_LOSE_NOTHING:
        yield from tuple(list_harmful_uses(run)) or list_deletions(run, roots)
        return
    if deletes_only_what_is_remade(run) or deletes_only_temporary(run, roots) or ends_only_servers(run):
        return
    if script is not None and (deletes_only_generated(run, script) or deletes_only_empty(run, script)):
        return
    listed = tuple(list_harmful_uses(run))
    if script is not None and changes_rights_inside(run, script, roots):
        listed = tuple(each for each in listed if not each.reason.endswith(WHOLE_FOLDERS))
    if script is not None and changes_only_folders(run, script):
        listed = tuple(each for each in listed if not each.reason.endswith(SPECIAL_BITS))
    yield from listed or list_deletions(run, roots)


def ends_only_servers(run: Invocation) -> bool:
    """Whether a program ends nothing but servers that developers start again at will."""
    if run.wrappers or run.in_loop:
        return False
    match run.program:
        case "pkill" | "killall":
            patterns = [word for word in run.arguments if not _ASKS_TO_END.fullmatch(word)]
            return len(patterns) == 1 and _SERVERS.fullmatch(patterns[0]) is not None
        case "fuser":
            names = [word for word in run.arguments if not re.fullmatch(r"-[kvs]+|-(TERM|INT|KILL|9|15)", word)]
            return bool(names) and all(map(_OPEN_PORT.fullmatch, names))
        case _:
            return False


def list_ended_processes(run: Invocation) -> Iterator[Objection]:
    """Processes ended that were found, or are ended without being asked."""
    if run.program != "kill" or run.arguments[:1] in (("-l",), ("-L",), ("-0",), ("--list",)):
        return
    others = [word for word in _list_process_words(run) if not word.startswith(("$(", "`", "{}"))]
    if Carried.PORT in run.carried and not others:
        return
    given = set(run.arguments)
    named = given & {"9", "KILL", "SIGKILL"} and given & {"-s", "-n", "--signal"}
    ends_all = run.arguments[-1:] == ("-1",) or "-1" in _list_process_words(run)
    if given & {"-9", "-KILL", "-SIGKILL", "-kill"} or named or ends_all:
        yield Objection("destructive", "kill: it ends processes without asking them", _ask_to_end(run))
    if run.in_loop or Carried.PROCESSES in run.carried:
        yield Objection("destructive", "kill: it ends every process that is found")


def _ask_to_end(run: Invocation) -> RequestTerms | None:
    """How a person asks for it: by the number of each process. Groups of processes have none."""
    numbers = _list_process_words(run)
    if not numbers or not all(re.fullmatch(r"[1-9]\d+", number) for number in numbers):
        return None
    return RequestTerms(effect=Effect.END, names=frozenset(numbers))


def _list_process_words(run: Invocation) -> Sequence[str]:
    """What `kill` is to end: every word behind the signal, also `-1`, all processes, and the groups `-N`."""
    match run.arguments:
        case ("-s" | "-n" | "--signal", _, *words):
            pass
        case (first, *words) if first.startswith("-") and first != "--":
            pass
        case _:
            words = list(run.arguments)
    return words[1:] if words[:1] == ["--"] else words


def list_written(run: Invocation) -> Iterator[str]:
    """The paths that a command is seen to write to."""
    for redirect in run.redirects:
        if redirect.operator in _WRITES_TO or (redirect.operator == ">&" and not redirect.target.isdigit()):
            yield redirect.target
    operands = run.operands
    if run.program in _TO_LAST:
        yield from run.find_values("-t", "--target-directory") if run.program != "scp" else ()
        yield from operands[-1:] if len(operands) > 1 else ()
    elif run.program in _TO_ALL:
        yield from operands
    elif run.program in ("wget", "aria2c"):
        yield from run.find_values("-O", "-P", "--output-document", "--directory-prefix", "-d", "-o")
    elif run.program == "curl":
        yield from run.find_values("-o", "--output", "--output-dir")
    elif run.program == "dd":
        yield from (word[3:] for word in run.arguments if word.startswith("of="))
    elif run.program in ("sed", "gsed", "perl", "ruby") and any(
        re.fullmatch(r"-[a-zA-Z]*i.*|--in-place.*", word) for word in run.arguments
    ):
        yield from operands
    elif run.program in ("tar", "unzip", "bsdtar"):
        yield from (
            run.find_values("-C", "--directory", "-d") if run.program != "unzip" else run.find_values("-d")
        )


def list_written_places(written: Iterable[str]) -> Iterator[Objection]:
    """What is wrong with writing to some paths."""
    for path in written:
        if is_device(path):
            yield Objection("destructive", f"it writes to a device: {path}")
        elif runs_on_its_own(path):
            yield Objection(
                "persistence",
                f"it writes {path}, which runs, or lets somebody in, without being asked",
                _ask_to_write(path),
            )
        elif belongs_to_system(path):
            yield Objection("path", f"it writes to the system's own files: {path}")


def _ask_to_write(path: str) -> RequestTerms | None:
    """How a person asks for it: for what runs for themselves alone; never for what lets somebody in."""
    place = normalize(path)
    is_own = place.startswith("~/") or not place.startswith("/")
    if not is_own or place.startswith("~/.ssh") or "$" in place:
        return None
    return RequestTerms(effect=Effect.INSTALL, names=frozenset({path}))


def list_read_credentials(run: Invocation, is_sensitive: Callable[[str], bool]) -> Iterator[Objection]:
    """Credentials that a command reads, or looks for."""
    names = [redirect.target for redirect in run.redirects if redirect.operator == "<"]
    if run.program in _READERS:
        keys = set(run.find_values("-i", "--cert", "--key", "--cacert"))
        names += [word.lstrip("@") for word in run.arguments if word not in keys]
    if run.program in _READERS or names:
        for name in names:
            path = name.rpartition("@")[2]
            is_local = "/" in path and "://" not in path and not is_public_key(path)
            if holds_credentials(path) or (is_local and is_sensitive(path)):
                yield Objection("secret", f"{run.program}: it reads {path}, which holds credentials")
    if run.program in _SEARCHERS and run.operands:
        wide = any(_WIDE.fullmatch(word) for word in run.operands[1:])
        if wide and any(_SECRET_WORDS.search(word) for word in run.arguments):
            yield Objection("secret", f"{run.program}: it searches for credentials")
    is_wide_find = run.program == "find" and any(_WIDE.fullmatch(word) for word in run.operands[:1])
    if is_wide_find and any(_KEY_NAMES.fullmatch(name) for name in run.find_values("-name", "-iname")):
        yield Objection("secret", "find: it searches for credentials")
