"""Programs that run what is typed into them, for callers that type where nobody looks."""

from __future__ import annotations

from quorum.domain.review.hazards.database import CLIENTS
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.started_programs import list_started
from quorum.domain.shell.script import Script, ScriptCommand

_SHELLS = frozenset(
    {
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "mksh",
        "ash",
        "fish",
        "csh",
        "tcsh",
        "pwsh",
        "powershell",
        "nu",
        "xonsh",
    }
)
_INTERPRETERS = frozenset(
    {
        *("python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "deno", "bun", "tclsh"),
        *("wish", "expect", "R", "Rscript", "guile", "ocaml", "groovy", "scala", "elixir", "julia", "swift"),
        *("clisp", "sbcl", "octave", "racket", "osascript"),
    }
)
_ALWAYS = frozenset(
    {
        *("ipython", "bpython", "ptpython", "irb", "pry", "iex", "erl", "ghci", "jshell", "gdb", "lldb", "pdb"),
        *(
            "vi",
            "vim",
            "nvim",
            "view",
            "ex",
            "ed",
            "emacs",
            "nano",
            "less",
            "more",
            "most",
            "man",
            "mail",
            "mutt",
        ),
        *("screen", "tmux", "script", "su", "login", "newgrp", "sg", "at", "batch", "crontab", "runuser"),
        *("telnet", "ftp", "sftp", "lftp", "rlogin", "ansible-console", "redis-cli", "mongosh", "mongo"),
    }
)
_READS_WORDS = frozenset({"read", "mapfile", "readarray"})
_STARTS_WITH_WORDS = frozenset({"xargs", "parallel"})
_PASSES_ON = frozenset({"cat", "tee"})
_SAYS = frozenset({"--version", "-V", "--help", "-h", "-v"})
_STATEMENTS = ("-c", "-e", "-f", "-q", "--command", "--execute", "--eval", "--file", "--query")
_OPEN = frozenset({"-i", "--interactive", "-it", "-ti", "-s", "--login", "-l", "-"})
_INPUTS = frozenset({"/dev/stdin", "/dev/tty", "/dev/fd/0", "/proc/self/fd/0"})
_CONSOLES = frozenset({"shell", "console", "c", "dbshell", "tinker", "repl", "dbconsole"})
_HAVE_CONSOLES = frozenset(
    {"rails", "python", "python3", "php", "flask", "django-admin", "heroku", "scrapy", "wp", "poetry", "pipenv"}
    | {"hatch", "pdm", "artisan", "manage.py", "nix", "fly", "flyctl", "cargo", "bundle"}
)
_DEBUGGERS = frozenset({"pdb", "code", "asyncio", "IPython", "ptpython", "bpython"})


def find_typed_program(script: Script) -> str | None:
    """The program of a shell text that runs what comes in from where the text itself does; None for none.

    It is known by name: what a script or code of its own does with its input is not told.
    """
    for command in script.commands:
        words = command.words
        whole = Invocation(program=words[0].rpartition("/")[2] if words else "", arguments=words[1:])
        is_fed = _is_fed(command, script)
        for run in list_started(whole):
            if not _SAYS.isdisjoint(run.arguments[:1]):
                continue
            if run.program == "eval" and not is_fed and command.reads:
                return run.program
            if _is_named(run) or (_takes_input(run) and not (is_fed and _is_given(command, run))):
                return run.program
    return None


def _is_given(command: ScriptCommand, run: Invocation) -> bool:
    """Whether its input is known to be something else: a shell behind a pipe may read whatever comes."""
    is_piped = bool(command.reads) and command.text is None
    return not (is_piped and run.program.rstrip("0123456789.") in _SHELLS)


def _is_fed(command: ScriptCommand, script: Script) -> bool:
    if command.text is not None or any(each.operator == "<" for each in command.redirects):
        return True
    return any(
        each.writes in command.reads and not _is_passing(each)
        for each in script.commands
        if each.writes is not None
    )


def _is_passing(command: ScriptCommand) -> bool:
    """Whether it only hands on what comes in to it."""
    names = [word for word in command.words[1:] if not word.startswith("-")]
    is_open = not command.reads and command.text is None and not command.redirects
    name = command.words[0].rpartition("/")[2] if command.words else ""
    return is_open and name in _PASSES_ON and (name == "tee" or not names)


def _is_named(run: Invocation) -> bool:
    if run.program in _ALWAYS:
        return True
    if run.program in ("docker", "podman", "nerdctl", "kubectl", "oc"):
        return "attach" in run.arguments or not _OPEN.isdisjoint(run.arguments)
    if run.program in _HAVE_CONSOLES and not _CONSOLES.isdisjoint(run.operands[:2]):
        return True
    if run.program in ("source", ".") and not _INPUTS.isdisjoint(run.operands[:1]):
        return True
    return run.program in ("sudo", "doas") and not _OPEN.isdisjoint(run.arguments[:1])


def _takes_input(run: Invocation) -> bool:
    name, words = run.program.rstrip("0123456789."), run.arguments
    if name in _SHELLS:
        is_code = any(word[:1] == "-" and word[1:2] != "-" and "c" in word for word in words)
        if is_code and any("$(cat)" in word for word in words):
            return True
        is_open = not _OPEN.isdisjoint(words) or not _INPUTS.isdisjoint(run.operands[:1])
        return not is_code and (is_open or not run.operands)
    if name in _INTERPRETERS:
        modules = {*run.find_values("-m")}
        if modules or any(run.find_values("-c", "-e", "-E", "-r", "--eval")):
            return "-i" in words or not _DEBUGGERS.isdisjoint(modules)
        return (
            not run.operands
            or not _OPEN.isdisjoint(words)
            or "-d" in words
            or run.operands[0] in ("repl", *_INPUTS)
        )
    if run.program in CLIENTS:
        takes_statement = run.program in ("sqlite3", "sqlite", "duckdb")
        return not any(run.find_values(*_STATEMENTS)) and not (takes_statement and run.operands[1:])
    if run.program in ("awk", "gawk", "mawk"):
        return "system(" in "".join(run.operands[:1])
    if run.program == "ssh":
        return len(run.operands) < 2
    return run.program in _READS_WORDS or (run.program in _STARTS_WITH_WORDS and bool(run.operands))
