"""Runs git so that it changes a repository, and starts no program that the repository names.

Checkouts and merges would start hooks, filters, merge drivers, merge strategies, signing programs and file
monitors. All of them are overridden in the environment of the command, which outweighs every file of settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from quorum.domain.errors import ToolError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.changes.git_reader import GitReader
from quorum.infrastructure.worktrees.named_settings import list_possible_keys

_LONGEST_REASON = 300
_NAMED = re.compile(r"(?P<kind>filter|merge|branch)\.(?P<name>.+)\.[^.]+", re.DOTALL | re.IGNORECASE)
# An empty filter changes nothing. A merge driver that fails leaves a conflict, which is said and taken back.
# The options of merges could name a strategy, which is a program.
_OVERRIDDEN = {
    "filter": {"smudge": "", "clean": "", "process": "", "required": "false"},
    "merge": {"driver": "false", "recursive": "binary"},
    "branch": {"mergeOptions": ""},
}
_STRATEGY = "recursive"
_FIXED = {
    "commit.gpgSign": "false",
    "core.editor": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.autoStash": "false",
    "merge.verifySignatures": "false",
    "pull.octopus": _STRATEGY,
    "pull.twohead": _STRATEGY,
    "rerere.enabled": "false",
    "tag.gpgSign": "false",
}


class GitWriter(GitReader):
    """As `GitReader`, for commands that also write. All methods block, and raise ToolError where git fails."""

    def __init__(self, root: Path, environ: Mapping[str, str], stop: Stop | None = None) -> None:
        super().__init__(root, environ, stop)
        keys = list_possible_keys(self.run, str(self.top))
        settings = (*_FIXED.items(), *_override_named(keys))
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


def _override_named(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What has no filter, merge driver and merge strategy of these settings run."""
    found = {(match["kind"].lower(), match["name"]) for key in keys if (match := _NAMED.fullmatch(key))}
    for kind, name in sorted(found):
        for setting, value in _OVERRIDDEN[kind].items():
            yield f"{kind}.{name}.{setting}", value
