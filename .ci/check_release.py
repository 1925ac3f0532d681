"""Checks that a tag, the version and the changelog fit: `python .ci/check_release.py v0.2.0`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r'^__version__ = "([0-9]+\.[0-9]+\.[0-9]+)"$', re.MULTILINE)
_HEADING = re.compile(r"^## (.+?)$", re.MULTILINE)


def problems(tag: str, version_file: str, changelog: str) -> list[str]:
    """What keeps this tag from being released. The texts are those of the two files."""
    found = _VERSION.search(version_file)
    if found is None:
        return ['quorum/version.py has no line __version__ = "X.Y.Z"']
    version = found[1]
    headings = [heading.split()[0].rstrip(":") for heading in _HEADING.findall(changelog)]
    wrong = []
    if tag != f"v{version}":
        wrong.append(f"the tag is {tag}, and quorum/version.py says {version}: expected the tag v{version}")
    if headings[:1] != ["Unreleased"]:
        wrong.append("CHANGELOG.md does not begin with the heading ## Unreleased")
    if headings[1:2] != [version]:
        wrong.append(f"CHANGELOG.md has no heading ## {version} below ## Unreleased")
    return wrong


def main() -> None:
    """Print what is wrong with the release of the tag on the command line, and exit with code 1 for it."""
    if len(sys.argv) != 2:
        sys.exit("usage: python .ci/check_release.py vX.Y.Z")
    wrong = problems(
        sys.argv[1],
        (ROOT / "quorum" / "version.py").read_text(encoding="utf-8"),
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    )
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
