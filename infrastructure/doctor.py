"""`quorum doctor`: what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
import ctypes
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from domain.errors import ConfigError
from infrastructure.config.loading import LoadedSettings
from infrastructure.config.model_choice import ModelChoice, choose_model
from infrastructure.config.paths import state_folder
from infrastructure.config.schema import ProviderTable
from infrastructure.config.toml_file import shown
from infrastructure.config.toml_text import printable

_PROBE_SECS = 2.0
_GET_CHILD_SUBREAPER = 37


class FindingState(StrEnum):
    """How bad it is: fail means that something asked for cannot work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `remedy` says what to do, where there is something to do."""

    name: str
    state: FindingState
    text: str
    remedy: str | None = None


async def diagnose(
    loaded: LoadedSettings | ConfigError, environ: Mapping[str, str], *, probe: bool = False
) -> tuple[Finding, ...]:
    """Look at everything quorum needs here. Changes nothing, sends no request and tells no key.

    `loaded` is the settings, or the error that loading them raised. With `probe`, it opens and closes one
    connection to the server that `base_url` names, for at most two seconds.
    """
    findings = [_python()]
    if isinstance(loaded, ConfigError):
        remedy = "correct it, or name another file with --config"
        findings.append(Finding("configuration", FindingState.FAIL, str(loaded), remedy))
    else:
        findings += [_configuration(loaded), *await _model(loaded, environ, probe=probe)]
    findings += [_search_engine(), *_programs(environ), _process_cleanup(), _state_folder(environ)]
    findings += [_terminal(environ), _locale(environ)]
    return tuple(findings)


def render_findings(findings: Sequence[Finding]) -> str:
    """One line per finding, its remedy below it, and a last line that sums up."""
    width = max((len(finding.name) for finding in findings), default=0)
    lines = []
    for finding in findings:
        first, *rest = (printable(line) for line in finding.text.split("\n"))
        lines.append(f"{finding.state:<5} {finding.name:<{width}}  {first}")
        lines += (f"{'':<5} {'':<{width}}  {line}" for line in rest)
        if finding.remedy is not None:
            lines.append(f"{'':<5} {'':<{width}}  → {printable(finding.remedy)}")
    failed = sum(finding.state is FindingState.FAIL for finding in findings)
    warned = sum(finding.state is FindingState.WARN for finding in findings)
    lines.append(f"{len(findings) - failed - warned} ok, {warned} to know about, {failed} to repair")
    return "\n".join(lines)


def _ok(name: str, text: str) -> Finding:
    return Finding(name, FindingState.OK, text)


def _warn(name: str, text: str, remedy: str | None = None) -> Finding:
    return Finding(name, FindingState.WARN, text, remedy)


def _fail(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, FindingState.FAIL, text, remedy)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return _ok("python", f"{version} ({shown(Path(sys.executable))})")


def _configuration(loaded: LoadedSettings) -> Finding:
    files = ", ".join(map(shown, loaded.files)) or "no file: the defaults count"
    if loaded.warnings:
        lines = "\n".join((files, *loaded.warnings))
        return _warn("configuration", lines, "`quorum config show` prints every value and its source")
    return _ok("configuration", files)


async def _model(loaded: LoadedSettings, environ: Mapping[str, str], *, probe: bool) -> list[Finding]:
    try:
        choice = choose_model(loaded, environ)
    except ConfigError as error:
        return [_fail("model", str(error), "choose a model, then run `quorum doctor` again")]
    table = loaded.settings.providers[choice.provider]
    if table.type == "offline":
        remedy = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or configure a server (docs/configuration.md)"
        text = f"{choice.model}: a plain interpreter of simple requests, no model ({choice.reason})"
        return [_warn("model", text, remedy)]
    findings = [_ok("model", f"{choice.model} ({choice.reason})"), _key(choice, table, environ), _sdk(table)]
    if probe and table.base_url:
        findings.append(await _server(table.base_url))
    return findings


def _key(choice: ModelChoice, table: ProviderTable, environ: Mapping[str, str]) -> Finding:
    variable = table.api_key_env
    if not variable:
        return _ok("key", f"{choice.provider} is set up to want none")
    if environ.get(variable, "").strip():
        return _ok("key", f"{variable} is set")
    if table.type in ("openai", "openai-chat") and _is_loopback(table.base_url):
        return _ok("key", f"{variable} is not set; a server on this machine is asked without one")
    return _fail("key", f"{variable} is not set", f"export {variable}=… with your key for {choice.provider}")


def _sdk(table: ProviderTable) -> Finding:
    module = "anthropic" if table.type == "anthropic" else "openai"
    if importlib.util.find_spec(module) is not None:
        return _ok("sdk", f"{module} is installed")
    return _fail(
        "sdk", f"the Python package {module} is not installed", "install quorum anew, with what it needs"
    )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def _server(url: str) -> Finding:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    place = f"{parts.hostname}:{port}"
    try:
        async with asyncio.timeout(_PROBE_SECS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        reason = f"{place} did not answer within {_PROBE_SECS:g} s"
    except OSError as error:
        reason = f"{place} cannot be reached: {error.strerror or error}"
    else:
        writer.close()
        return _ok("server", f"{place} accepts connections")
    return _fail("server", reason, "start the server, or correct base_url")


def _search_engine() -> Finding:
    # Loaded rather than looked up: a compiled module that is there may still not fit this machine.
    try:
        importlib.import_module("re2")
    except ImportError as error:
        return _fail("search", f"the search engine cannot be loaded: {error}", "install google-re2 anew")
    return _ok("search", "re2 is loaded")


def _programs(environ: Mapping[str, str]) -> list[Finding]:
    path = environ.get("PATH")
    git, bash, bwrap = (shutil.which(name, path=path) for name in ("git", "bash", "bwrap"))
    sandbox = "not used yet; commands run with your rights"
    found = f" (bubblewrap is there: {shown(Path(bwrap))})" if bwrap else " (bubblewrap is not installed)"
    return [
        _ok("git", shown(Path(git))) if git else _warn("git", "not found", "install git"),
        _ok("bash", shown(Path(bash)))
        if bash
        else _warn("bash", "not found; commands run in /bin/sh", "install bash"),
        _warn("sandbox", sandbox + found),
    ]


def _process_cleanup() -> Finding:
    if sys.platform != "linux":
        text = "best effort on this system: a command's daemonised children may outlive it"
        return _warn("processes", text)
    answer = ctypes.c_int()
    if ctypes.CDLL(None, use_errno=True).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0:
        return _ok("processes", "child subreaper supported: a command leaves no process behind")
    reason = os.strerror(ctypes.get_errno())
    return _warn(
        "processes", f"child subreaper not supported ({reason}): daemonised children may outlive a command"
    )


def _state_folder(environ: Mapping[str, str]) -> Finding:
    folder = state_folder(environ)
    if folder is None:
        return _fail("state", "there is no home folder to keep state in", "set HOME or XDG_STATE_HOME")
    existing = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return _ok("state", f"{shown(folder)} {'is writable' if existing == folder else 'can be made'}")
    return _fail("state", f"{shown(folder)}: {shown(existing)} cannot be written to", "repair its rights")


def _terminal(environ: Mapping[str, str]) -> Finding:
    kind = environ.get("TERM", "")
    if not sys.stdout.isatty():
        return _warn("terminal", "the output is no terminal; only `quorum run` works here")
    if kind in ("", "dumb"):
        return _fail("terminal", f"TERM is {kind or 'not set'}", "set TERM, for example to xterm-256color")
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    text = f"{kind}, {_colours(kind, environ)}, {columns}×{rows}"
    if columns < 80 or rows < 24:
        return _warn("terminal", text, "make it 80×24 or larger")
    return _ok("terminal", text)


def _colours(kind: str, environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256color" in kind else "16 colours"


def _locale(environ: Mapping[str, str]) -> Finding:
    variable = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), None)
    value = environ[variable] if variable else ""
    if re.search(r"utf-?8", value, re.IGNORECASE):
        return _ok("locale", f"{variable}={value}")
    text = f"{variable}={value} is not UTF-8" if variable else "neither LC_ALL, LC_CTYPE nor LANG is set"
    return _warn("locale", text, "set LANG=C.UTF-8, or lines and signs may be drawn wrong")
