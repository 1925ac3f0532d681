"""Which paths are the workspace, which are protected from writing, which are sensitive even to read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

PROTECTED: tuple[str, ...] = (
    ".git/",
    "quorum.toml",
    ".quorum/",
    ".envrc",
    "AGENTS.md",
    "CLAUDE.md",
    ".github/",
    ".gitlab-ci.yml",
    ".circleci/",
    "Jenkinsfile",
    ".ci/",
    ".vscode/",
    ".idea/",
    ".gitmodules",
    ".gitattributes",
    ".pre-commit-config.yaml",
)
SENSITIVE: tuple[str, ...] = (
    ".env",
    ".env.*",
    "*.env",
    ".env~",
    "*.pem",
    "*.key",
    "id_rsa*",
    "id_ed25519*",
    "id_ecdsa*",
    "id_dsa*",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    "credentials",
    "credentials.*",
    ".ssh/",
    ".aws/",
    ".gnupg/",
    ".docker/config.json",
    ".kube/config",
    "*.p12",
    "*.pfx",
    "*.kdbx",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPolicy:
    """Patterns in the manner of ignore files, compared without regard to case.

    A pattern without an inner slash matches a file or folder of that name at any depth, and with it all
    below; a pattern with an inner slash matches that run of names at any depth. `*` does not cross a slash.
    `own` are canonical paths of quorum's own files and folders: protected and sensitive wherever they lie.
    """

    roots: tuple[str, ...]
    own: tuple[str, ...] = ()
    protected: tuple[str, ...] = PROTECTED
    sensitive: tuple[str, ...] = SENSITIVE

    def is_inside(self, path: str) -> bool:
        """Whether a canonical path lies in the workspace."""
        return any(path == root or path.startswith(root.rstrip("/") + "/") for root in self.roots)

    def is_protected(self, path: str) -> bool:
        """Whether writing this path is always asked about."""
        return self._is_own(path) or _matches_any(self._names(path), self.protected)

    def is_sensitive(self, path: str) -> bool:
        """Whether even reading this path is asked about."""
        return self._is_own(path) or _matches_any(self._names(path), self.sensitive)

    def _is_own(self, path: str) -> bool:
        return any(path == own or path.startswith(own + "/") for own in self.own)

    def _names(self, path: str) -> tuple[str, ...]:
        for root in self.roots:
            prefix = root.rstrip("/") + "/"
            if path.startswith(prefix):
                path = path[len(prefix) :]
                break
        return tuple(name.casefold() for name in path.split("/") if name)


def _matches_any(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    single, runs = _compiled(patterns)
    if single is not None and any(map(single.match, names)):
        return True
    return any(
        all(part.match(name) for part, name in zip(run, names[start:], strict=False))
        for run in runs
        for start in range(len(names) - len(run) + 1)
    )


@lru_cache(maxsize=32)
def _compiled(
    patterns: tuple[str, ...],
) -> tuple[re.Pattern[str] | None, tuple[tuple[re.Pattern[str], ...], ...]]:
    """One expression for all patterns of one name, and those of several names: every file is asked about."""
    parts = [[part.casefold() for part in pattern.split("/") if part] for pattern in patterns]
    single = "|".join(translate(each[0]) for each in parts if len(each) == 1)
    runs = tuple(tuple(re.compile(translate(part)) for part in each) for each in parts if len(each) > 1)
    return re.compile(single) if single else None, runs
