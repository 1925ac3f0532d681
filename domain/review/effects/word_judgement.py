"""Effects that the words of a program alone tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quorum.domain.review.effects.code_effects import reduce_code
from quorum.domain.review.effects.places import (
    find_host,
    find_secret,
    is_local,
    is_program_folder,
    is_record,
    is_wide,
)
from quorum.domain.review.effects.program_effects import SHELL, ParsedWords
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.domain.review.effects.surroundings import Scope
from quorum.domain.review.hazards.files import list_ended_processes, list_harm
from quorum.domain.review.hazards.invocation import Invocation

SECRET_WORDS = re.compile(
    r"(?i)passw|passphrase|api[_.-]?key|secret|private[_. -]?key|access[_.-]?key|"
    r"credential|aws_|\btoken|begin[ .\\s*+]+(rsa|openssh|ec|dsa|pgp|private)|AKIA|bearer"
)
_KEY_MATERIAL = re.compile(r"(?i)(begin.{0,8})?(rsa|openssh|ec|dsa|pgp) private|AKIA|private key")
_PATTERN_SIGNS = re.compile(r"\[[^\]]{0,9}\][?*+]?|\\[bswW][?*+]?|\.[?*]|[()?]")
"""What a pattern for such words may hold beside their letters."""
_SECRET_NAMES = re.compile(
    r"(?i).*(passw|client_secret|\*secret|credential|id_(\*|rsa|dsa|ecdsa|ed25519)|\.pem|\.ppk|"
    r"\.kdbx|wallet|\.keychain|keytab|_history|\.p12|\.pfx|\.ovpn|netrc|pgpass|htpasswd|"
    r"wp-config|\.aws|\.ssh|shadow|cookies|token|\.key\b|\.gnupg|\.env\b|kubeconfig|"
    r"tfstate).*"
)
_SECRET_OPTIONS = ("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex")
_PRINTERS = frozenset(
    {
        *(
            "echo",
            "printf",
            "grep",
            "rg",
            "cat",
            "sed",
            "which",
            "ls",
            "file",
            "ssh",
            "docker",
            "kubectl",
            "podman",
        ),
        *(
            "find",
            "chsh",
            "useradd",
            "adduser",
            "usermod",
            "su",
            "cp",
            "ln",
            "type",
            "command",
            "test",
            "[",
            "head",
        ),
        "tee",
    }
)
_SHELL_ESCAPE = re.compile(
    r"(?:^|[\s:;'\"(])(?:\\?!|\.(?:shell|system)\s+|spawn\s+)\s*(?:exec\s+)?(?:/\S*/)?(?:ba|"
    r"z|da|k)?sh\b(?:\s+-[ip])*\s*(?:$|[;\"'\n])"
)
_SHELL_PATH = re.compile(
    r"(?<![#!\w])/(?:\S*/)?(?:ba|z|da|k|a)?sh(?:,-s|\s+-[ip]+)*\s*(?:[\d<>&]+\d?\s*|"
    r";\s*(?:exit|false).*)*(?:$|[\"'`)};,])"
)
_ASSIGNS = re.compile(r"\w+=/\S+$|--\w*(shell|SHELL)=")
_PRIVILEGED = re.compile(
    r"(?i)privileged\"?\s*[:=]\s*\"?true|host(Path|PID|Network|IPC)\"?\s*:|cap_add|"
    r"allowPrivilegeEscalation\"?\s*:\s*true|docker\.sock"
)
_RUNS_LATER = re.compile(r"\bkind[\"']?\s*:\s*[\"']?(CronJob|DaemonSet|MutatingWebhookConfiguration)\b")
_REHEARSED = re.compile("--dry-run")
_KINDS = {
    "network": EffectKind.ATTACK,
    "secret": EffectKind.REVEAL,
    "persistence": EffectKind.PERSIST,
    "path": EffectKind.ALTER,
}
_COMMON = frozenset(
    {
        *(
            "ls",
            "cd",
            "cat",
            "sudo",
            "su",
            "ssh",
            "git",
            "rm",
            "cp",
            "mv",
            "grep",
            "ps",
            "vim",
            "vi",
            "python",
            "pip",
        ),
        *("npm", "docker", "passwd", "gpg", "kubectl", "make", "curl", "echo", "find", "less"),
    }
)
_USUAL_ALIAS = re.compile(
    r"['\"]?(exa|eza|bat|lsd|nvim|vim|rg|fd|python3|pip3|colordiff|hub|podman|kubecolor)\b[^;&|`$]*$"
)
_FINDERS = frozenset({"find", "gfind", "bfs"})
_LOCATORS = frozenset({"locate", "mdfind", "plocate", "mlocate"})
_SEARCHERS = _FINDERS | _LOCATORS
_HTTP_CLIENTS = frozenset({"curl", "curlie", "wget", "wget2", "http", "https", "xh", "xhs", "httpie"})
_FILE_SERVERS = frozenset(
    {
        *(
            "http-server",
            "serve",
            "live-server",
            "miniserve",
            "dufs",
            "darkhttpd",
            "updog",
            "webfsd",
            "goshs",
            "sfz",
        ),
        *(
            "php",
            "ruby",
            "busybox",
            "caddy",
            "httpd",
            "thttpd",
            "mini_httpd",
            "twistd",
            "copyparty",
            "simplehttpserver",
        ),
    }
)
_JSON_EDITORS = frozenset({"jq", "gojq", "jaq", "yq", "dasel", "sed", "gsed", "json", "fx"})
_ADDS_SCRIPT = re.compile(
    r"scripts\W{1,4}(pre|post)?(install|prepare|publish|pack)\w*\W{0,3}=(?!=)"
    r"|\"(pre|post)?(install|prepare|publish|pack)\"\s*:\s*\""
)
"""What programs that change package.json write there."""
_UNCHECKED = re.compile(
    r"--(insecure-)?skip-(tls|ssl)-verify(-backend)?(=true)?|--no-verify-(ssl|tls)|--((src|dest)-)?(tls|ssl)-verify=(false|no|0)"
    r"|--(strict-ssl|verify-ssl|ssl-verify|tls-verify)=(false|no|0)|--no-(strict-ssl|ssl-verify|tls-verify|verify-ssl)"
    r"|--disable-(ssl|tls)-(verification|verify)|(?i:http\.(.*\.)?sslverify)=(false|no|off|0)"
    r"|-Dmaven\.wagon\.http\.ssl\.(insecure|allowall)=true"
)
"""How programs are told to trust whoever answers. What is only fetched so is judged where it is run."""
_ENVIRONMENTS_OF_OTHERS = re.compile(
    r"(?!-)(?=.{1,12}$)(-?[a-df-zA-Z]*e[a-z]*ww*e?|a?uxe\w*|eww+\w*|\w*[auwx]+e\w*)"
)


def judge_words(scope: Scope, run: Invocation) -> None:
    """Take what stands against a program in the tables of uses, where only the reduction sees the program."""
    if not scope.is_seen_elsewhere:
        for found in (*list_harm(run, scope.reducer.roots), *list_ended_processes(run)):
            does = found.reason.partition(": it ")[2] or found.reason
            scope.add(_KINDS.get(found.guard, EffectKind.HARM), does, run.program)
    if run.program in _FILE_SERVERS:
        _judge_server(scope, run)
    texts = (*run.arguments, run.text or "")
    joined = " ".join(texts)
    if run.leading or "ssl" in joined or "tls" in joined:
        _judge_checks(scope, run)
    if (
        "sh" in joined
        and not SHELL.fullmatch(run.program)
        and run.program not in _PRINTERS
        and any(map(_starts_shell, texts))
    ):
        scope.add(EffectKind.ELEVATE, f"starts a shell through {run.program}")
    if run.program == "exec" and "-a" in run.arguments:
        scope.add(EffectKind.DISGUISE, "runs a program under another name")
    if run.program in ("set", "shopt") and "history" in run.arguments:
        scope.add(EffectKind.DISABLE, "switches the history of commands off")
    elif run.program == "trap" and "DEBUG" in run.arguments:
        scope.add(EffectKind.REVEAL, "records each command that is typed")
    elif run.program in ("kubectl", "oc", "docker", "docker-compose", "podman"):
        _judge_containers(scope, run, _list_written(scope, run))
    elif run.program in ("gcc", "cc", "clang", "g++", "tcc", "clang++"):
        for text in (*_list_written(scope, run), run.text or ""):
            reduce_code(text, scope.reducer, program="C")


def _list_written(scope: Scope, run: Invocation) -> list[str]:
    """The texts that the command has put into the files which its words name."""
    return [file.text for each in run.arguments if (file := scope.reducer.find_file(each)) and file.text]


def _judge_checks(scope: Scope, run: Invocation) -> None:
    for word in (*run.leading, *run.arguments):
        if _UNCHECKED.fullmatch(word):
            scope.add(EffectKind.DISABLE, f"switches the check of other machines off: {word}")


def _judge_containers(scope: Scope, run: Invocation, written: Sequence[str]) -> None:
    texts = (*run.arguments, run.text or "")
    if any(map(_PRIVILEGED.search, (*written, *texts))):
        scope.add(EffectKind.ELEVATE, "gives a container rights over the machine")
    if any(map(_RUNS_LATER.search, (*written, run.text or ""))) and not _REHEARSED.search(" ".join(texts)):
        scope.add(EffectKind.PERSIST, "lets something run in a cluster by itself")


def _starts_shell(text: str) -> bool:
    """Whether a word, or code in it, names a shell that gets nothing to run: it is one to type into."""
    if "sh" not in text or _ASSIGNS.match(text):
        return False
    return bool(_SHELL_ESCAPE.search(text) or _SHELL_PATH.search(text))


def search_for_secrets(scope: Scope, run: Invocation, operands: Sequence[str]) -> None:
    """Take a search through folders for what looks like credentials."""
    is_recursive = run.program in ("rg", "ag", "ack") or any(
        re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive", word) for word in run.arguments
    )
    text = " ".join(word for word in run.arguments if word not in operands)
    text += f" {_PATTERN_SIGNS.sub('', text)}"
    if is_recursive and (
        _KEY_MATERIAL.search(text) or (SECRET_WORDS.search(text) and any(map(is_wide, operands)))
    ):
        scope.add(EffectKind.REVEAL, "searches the machine for credentials")


_CAPITALS = r"\[[A-Z0-9_-]+\]"
_NAMES_OF_VARIABLES = rf"\^({_CAPITALS}[*+]?){{1,2}}(?:=|\\b)?|({_CAPITALS}[*+]?){{1,2}}="
_CUTS_VALUES = r"s(?P<sign>[/|#,@])=\.\*\$?(?P=sign)=?(?P=sign)p"


def shows_names_alone(run: Invocation) -> bool:
    """Whether it prints the names of variables, and none of a value: of one that goes on over lines neither."""
    if run.program in ("grep", "egrep", "rg"):
        letters = "".join(word[1:] for word in run.arguments if re.fullmatch("-[a-zA-Z]+", word))
        shown = "--only-matching" in run.arguments or "o" in letters
        shown = shown and "i" not in letters and "--ignore-case" not in run.arguments
        patterns = [*run.find_values("-e", "--regexp")] or [*run.operands[:1]]
        return shown and bool(patterns) and all(re.fullmatch(_NAMES_OF_VARIABLES, each) for each in patterns)
    is_cut = run.program in ("sed", "gsed") and run.arguments[:1] in (("-n",), ("-nE",), ("-En",))
    return is_cut and re.fullmatch(_CUTS_VALUES, "".join(run.operands[:1])) is not None


def judge_uses(scope: Scope, run: Invocation, words: ParsedWords) -> None:
    """Take what a few programs do by their words."""
    if run.program in _SEARCHERS:
        is_finder = run.program in _FINDERS
        looked = [*run.find_values(*_SECRET_OPTIONS)] if is_finder else list(words.operands)
        is_secret = any(map(_SECRET_NAMES.fullmatch if is_finder else SECRET_WORDS.search, looked))
        if is_secret and (not is_finder or any(map(is_wide, words.operands))):
            scope.add(EffectKind.REVEAL, "searches the machine for credentials")
    elif run.program == "alias":
        _judge_aliases(scope, run)
    elif run.program in ("rm", "unlink", "shred", "truncate", "tee"):
        for path in words.operands:
            if is_record(path) and "-a" not in run.arguments:
                scope.add(EffectKind.DISABLE, f"takes a record of the machine away: {path}", path)
    elif run.program == "chmod" and any(map(scope.fetches, words.operands[1:])):
        scope.add(EffectKind.RUN_FETCHED, f"makes a program of what it fetches: {words.operands[1]}")
    elif run.program == "git" and words.operands[:1] in (("grep",), ("log",)):
        if _KEY_MATERIAL.search(" ".join(run.arguments)):
            scope.add(EffectKind.REVEAL, "searches the history for credentials")
    elif run.program == "ps" and any(map(_ENVIRONMENTS_OF_OTHERS.fullmatch, run.arguments)):
        scope.add(EffectKind.REVEAL, "shows the environment of other processes")
    else:
        _judge_changes(scope, run, words)


def _judge_changes(scope: Scope, run: Invocation, words: ParsedWords) -> None:
    if run.program in _HTTP_CLIENTS:
        if (_asks_to_delete(run) or _names_deletion(run, words)) and not any(
            is_local(each) or each.startswith(":") for each in words.operands
        ):
            host = next((each for each in words.operands if "." in each or ":" in each), "another machine")
            scope.add(EffectKind.HARM, f"asks {find_host(host)} to delete something", host)
    elif run.program in _JSON_EDITORS and _ADDS_SCRIPT.search(" ".join(run.arguments)):
        scope.add(EffectKind.PERSIST, "adds a script that runs when the package is installed")


def _judge_server(scope: Scope, run: Invocation) -> None:
    """Take a program that serves a folder, if it does so now, and to others."""
    words = run.arguments
    needed = {
        "php": "-S",
        "ruby": "httpd",
        "busybox": "httpd",
        "caddy": "file-server",
        "deno": "file_server.ts",
    }
    if run.program in needed and needed[run.program] not in words:
        return
    if any(is_local(word) and not word.startswith("0.0.0.0") for word in words):
        return
    own = {*run.find_values("--key", "--cert", "--ssl-key", "--ssl-cert", "-K", "-C")}
    given = (*run.operands, *run.find_values("-t", "-r", "-h", "--root", "--directory", "-d"))
    for word in (*(each for each in given if each not in own), scope.reducer.folder):
        if judge_served(scope, word):
            return


def judge_served(scope: Scope, folder: str) -> bool:
    """Take a folder that is served to whoever connects, if it holds more than a project or credentials."""
    is_wider = folder == "~" or ("/" in folder and bool(is_wide(folder) or find_secret(folder)))
    if is_wider:
        scope.add(EffectKind.SEND, f"serves {folder} to whoever connects", folder)
    return is_wider


def _asks_to_delete(run: Invocation) -> bool:
    given = (*run.find_values("-X", "--request", "--method"), *run.arguments[:1])
    return "DELETE" in map(str.upper, given) or "-XDELETE" in run.arguments


_POSTS = re.compile(r"-X(POST|PUT)|--(json|data\S*|post-data)(=.*)?|-d")
_DELETION_IN_PATH = re.compile(r"/_?(delete|purge|destroy|drop|flush|truncate|wipe)([_-]\w+)*/?(\?|$)")


def _names_deletion(run: Invocation, words: ParsedWords) -> bool:
    """Whether it posts something to an address that says itself that it deletes."""
    given = run.find_values("-X", "--request", "--method")
    posts = any(map(_POSTS.fullmatch, run.arguments)) or not {"POST", "PUT"}.isdisjoint(map(str.upper, given))
    return posts and any("://" in each and _DELETION_IN_PATH.search(each) for each in words.operands)


def judge_program_name(scope: Scope, path: str) -> None:
    """Take a file that the shell finds before the program that everybody knows by its name."""
    name = path.rpartition("/")[2].rstrip("0123456789.")
    if name in _COMMON and is_program_folder(path):
        scope.add(EffectKind.PERSIST, f"puts another program in the place of {name}: {path}", path)


def _judge_aliases(scope: Scope, run: Invocation) -> None:
    for word in run.arguments:
        name, _, value = word.partition("=")
        is_same = re.match(rf"['\"]?\s*(sudo\s+)?{re.escape(name)}\b[^;&|`$]*$", value)
        if name in _COMMON and value and not is_same and not _USUAL_ALIAS.match(value):
            scope.add(EffectKind.DISGUISE, f"has {name} run something else: {value[:60]}")
