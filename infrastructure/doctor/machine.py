"""What of the machine quorum needs: its Python, programs, processes, folders and the terminal."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from quorum.application.program_lookup import find_program
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.debug_log.log_file import locate_debug_log_folder
from quorum.infrastructure.doctor.finding import Finding, fail, report_ok, warn

_GET_CHILD_SUBREAPER = 37


def check_python() -> Finding:
    """The interpreter that runs quorum."""
    version = ".".join(map(str, sys.version_info[:3]))
    return report_ok("python", f"{version} ({escape_path(Path(sys.executable))})")


def check_machine(environ: Mapping[str, str]) -> list[Finding]:
    """Look at everything that has nothing to do with models. Changes nothing."""
    return [
        _search_engine(),
        *_check_programs(environ),
        _check_process_cleanup(),
        _check_state_folder(environ),
        *_check_debug_log(environ),
        _check_terminal(environ),
        _check_locale(environ),
    ]


def _search_engine() -> Finding:
    # Loaded rather than looked up: a compiled module that is there may still not fit this machine.
    try:
        importlib.import_module("re2")
    except ImportError as error:
        return fail("search", f"the search engine cannot be loaded: {error}", "install google-re2 anew")
    return report_ok("search", "re2 is loaded")


def _check_programs(environ: Mapping[str, str]) -> list[Finding]:
    path = environ.get("PATH")
    git, bash = (find_program(name, path) for name in ("git", "bash"))
    return [
        report_ok("git", escape_path(Path(git))) if git else warn("git", "not found", "install git"),
        report_ok("bash", escape_path(Path(bash)))
        if bash
        else warn("bash", "not found; commands run in /bin/sh", "install bash"),
    ]


def _check_process_cleanup() -> Finding:
    if sys.platform != "linux":
        text = "best effort on this system: a command's daemonised children may outlive it"
        return warn("processes", text)
    answer = ctypes.c_int()
    if ctypes.CDLL(None, use_errno=True).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0:
        return report_ok("processes", "child subreaper supported: a command leaves no process behind")
    reason = os.strerror(ctypes.get_errno())
    return warn(
        "processes", f"child subreaper not supported ({reason}): daemonised children may outlive a command"
    )


def _check_state_folder(environ: Mapping[str, str]) -> Finding:
    folder = locate_state_folder(environ)
    if folder is None:
        return fail("state", "there is no home folder to keep state in", "set HOME or XDG_STATE_HOME")
    existing = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return report_ok(
            "state", f"{escape_path(folder)} {'is writable' if existing == folder else 'can be made'}"
        )
    return fail(
        "state", f"{escape_path(folder)}: {escape_path(existing)} cannot be written to", "repair its rights"
    )


def _check_debug_log(environ: Mapping[str, str]) -> list[Finding]:
    folder = locate_debug_log_folder(environ)
    if folder is None:
        return []
    return [report_ok("debug log", f"written with --debug only, to {escape_path(folder)}")]


def _check_terminal(environ: Mapping[str, str]) -> Finding:
    kind = environ.get("TERM", "")
    if not sys.stdout.isatty():
        return warn("terminal", "the output is not a terminal; only `quorum run` works here")
    if kind in ("", "dumb"):
        return fail("terminal", f"TERM is {kind or 'not set'}", "set TERM, for example to xterm-256color")
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    text = f"{kind}, {_describe_colours(kind, environ)}, {columns}×{rows}"
    if columns < 80 or rows < 24:
        return warn("terminal", text, "make it 80×24 or larger")
    return report_ok("terminal", text)


def _describe_colours(kind: str, environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256color" in kind else "16 colours"


def _check_locale(environ: Mapping[str, str]) -> Finding:
    variable = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), None)
    value = environ[variable] if variable else ""
    if re.search(r"utf-?8", value, re.IGNORECASE):
        return report_ok("locale", f"{variable}={value}")
    text = f"{variable}={value} is not UTF-8" if variable else "neither LC_ALL, LC_CTYPE nor LANG is set"
    return warn("locale", text, "set LANG=C.UTF-8, or lines and signs may be drawn wrong")
