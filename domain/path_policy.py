"""Which paths are the workspace, which are protected from writing, which are sensitive even to read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

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
    """

    roots: tuple[str, ...]
    protected: tuple[str, ...] = PROTECTED
    sensitive: tuple[str, ...] = SENSITIVE

    def is_inside(self, path: str) -> bool:
        """Whether a canonical path lies in the workspace."""
        return any(path == root or path.startswith(root.rstrip("/") + "/") for root in self.roots)

    def is_protected(self, path: str) -> bool:
        """Whether writing this path is always asked about."""
        return _matches_any(self._names(path), self.protected)

    def is_sensitive(self, path: str) -> bool:
        """Whether even reading this path is asked about."""
        return _matches_any(self._names(path), self.sensitive)

    def _names(self, path: str) -> tuple[str, ...]:
        for root in self.roots:
            prefix = root.rstrip("/") + "/"
            if path.startswith(prefix):
                path = path[len(prefix) :]
                break
        return tuple(name.casefold() for name in path.split("/") if name)


def _matches_any(names: tuple[str, ...], patterns: Iterable[str]) -> bool:
    return any(_matches(names, pattern) for pattern in patterns)


def _matches(names: tuple[str, ...], pattern: str) -> bool:
    wanted = tuple(part.casefold() for part in pattern.split("/") if part)
    return bool(wanted) and any(
        all(fnmatchcase(name, part) for name, part in zip(names[start:], wanted, strict=False))
        for start in range(len(names) - len(wanted) + 1)
    )
