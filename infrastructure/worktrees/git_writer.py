"""Runs git so that it changes a repository, and starts no program that the repository names.

Checkouts and merges would start hooks, filters, merge drivers, signing programs and file monitors. All of them
are overridden in the environment of the command, which outweighs every file of settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from domain.errors import ToolError
from domain.text.printable import make_printable
from infrastructure.blocking import Stop
from infrastructure.changes.git_reader import GitReader

_LONGEST_REASON = 300
_NAMED = re.compile(r"(?P<kind>filter|merge)\.(?P<name>.+)\.[^.]+", re.DOTALL | re.IGNORECASE)
# An empty filter changes nothing. A merge driver that fails leaves a conflict, which is said and taken back.
_OVERRIDDEN = {
    "filter": {"smudge": "", "clean": "", "process": "", "required": "false"},
    "merge": {"driver": "false", "recursive": "binary"},
}
_FIXED = {
    "commit.gpgSign": "false",
    "core.editor": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.verifySignatures": "false",
    "rerere.enabled": "false",
    "tag.gpgSign": "false",
}


class GitWriter(GitReader):
    """As `GitReader`, for commands that also write. All methods block, and raise ToolError where git fails."""

    def __init__(self, root: Path, environ: Mapping[str, str], stop: Stop | None = None) -> None:
        super().__init__(root, environ, stop)
        listed = self.run("config", "-z", "--name-only", "--list").decode("utf-8", "surrogateescape")
        settings = (*_FIXED.items(), *_override_named(listed.split("\0")))
        first = int(self._environment["GIT_CONFIG_COUNT"])
        self._environment["GIT_CONFIG_COUNT"] = str(first + len(settings))
        for place, (key, value) in enumerate(settings, first):
            self._environment[f"GIT_CONFIG_KEY_{place}"] = key
            self._environment[f"GIT_CONFIG_VALUE_{place}"] = value
        self._environment.pop("GIT_NO_REPLACE_OBJECTS", None)

    def run_in_environment(self, more: Mapping[str, str], *arguments: str) -> bytes:
        """What a command prints that has these variables in its environment as well."""
        output, code, errors = self._run(arguments, b"", self.top, more)
        if code != 0:
            said = make_printable(errors.decode("utf-8", "replace").strip(), newlines=False)[:_LONGEST_REASON]
            raise ToolError(f"git {arguments[0]} failed: {said or f'exit code {code}'}")
        return output


def _override_named(keys: list[str]) -> Iterator[tuple[str, str]]:
    """What has no filter and merge driver of these settings run."""
    found = {(match["kind"].lower(), match["name"]) for key in keys if (match := _NAMED.fullmatch(key))}
    for kind, name in sorted(found):
        for setting, value in _OVERRIDDEN[kind].items():
            yield f"{kind}.{name}.{setting}", value
