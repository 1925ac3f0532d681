"""Commands whose words hold code, and those that change what the commands behind them do."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.text.pattern import compile_once

# Each of its uses holds code, or a text that another program or machine runs.
_ALWAYS_CODE = frozenset(
    {
        *(".", "source", "eval", "trap", "exec", "coproc", "builtin", "command"),
        *("awk", "gawk", "mawk", "nawk", "sed", "gsed", "ed", "ex", "expect", "jshell"),
        *("sqlite3", "psql", "mysql", "mariadb", "mongosh", "redis-cli"),
        *("ssh", "su", "watch", "parallel", "xargs", "osascript", "screen", "tmux", "at", "batch", "crontab"),
        *("flock", "script", "runuser", "entr", "nix-shell"),
    }
)
# They change the folder, the variables or the names that the rest of the line runs with.
_CHANGES_SHELL = frozenset(
    {
        *("cd", "pushd", "popd", "export", "set", "unset", "shopt", "alias", "unalias", "hash", "enable"),
        *("declare", "typeset", "local", "readonly", "read", "mapfile", "umask", "ulimit"),
    }
)
_SHELL = r"(ba|da|k|z|a|fi|c|tc)?sh[0-9.]*"
_INTERPRETER = (
    r"(?i)(python|pypy|perl|ruby|node|nodejs|php|lua|luajit|tclsh|Rscript|R|julia|pwsh|powershell|deno|bun|groovy"
    r"|scala|elixir|erl|ghc|guile|racket|tsx|ts-node|npx|pnpx|bunx)[0-9.]*"
)
_CODE_LETTERS = frozenset("cCeEprRsx")
_CODE_OPTIONS = r"(?s)--?(eval|print|command|encodedcommand|execute|run|code|require|import|loader|call)\b.*"
_CODE_OPTIONS_ANYWHERE = r"(?s)--(eval|command|execute|exec|call)(=.*)?"
_CODE_WORDS_OF_GIT = frozenset(
    {"-c", "--config-env", "--exec", "-x", "bisect", "difftool", "filter-branch", "foreach", "mergetool"}
)
_CODE_COMMANDS = frozenset({"eval", "repl"})


def holds_code(words: Sequence[str]) -> bool:
    """Whether a plain command may run code that stands in its words or comes in by its input, or changes what
    the commands behind it do. Every word may be the name of a program, as it is behind `timeout 60`.
    """
    if not words:
        return True
    names = [word.rpartition("/")[2] for word in words]
    if names[0] in _ALWAYS_CODE | _CHANGES_SHELL:
        return True
    if names[0] == "git" and any(word in _CODE_WORDS_OF_GIT for word in words[1:]):
        return True
    if any(compile_once(_CODE_OPTIONS_ANYWHERE).fullmatch(word) for word in words[1:]):
        return True
    return any(_runs_code(name, words[place + 1 :], first=place == 0) for place, name in enumerate(names))


def _runs_code(name: str, rest: Sequence[str], *, first: bool) -> bool:
    if name in {"eval", "exec", "ssh"} and not first:
        return True
    if not (compile_once(_SHELL).fullmatch(name) or compile_once(_INTERPRETER).fullmatch(name)):
        return False
    for word in rest:
        if word == "-m":
            return False  # a module, whose own options follow
        if word == "-" or compile_once(_CODE_OPTIONS).fullmatch(word.lower()):
            return True
        if not word.startswith(("-", "+")):
            return word in _CODE_COMMANDS
        if not word.startswith("--") and _CODE_LETTERS & set(word[1:]):
            return True
    return True  # nothing names a script: the code comes in by the input
