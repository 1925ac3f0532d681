"""What the metadata of a release says of its repository, which the host of the build names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)")


class RepositoryMetadata(MetadataHookInterface):
    """Adds the addresses of the project, and makes the links of the README whole."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Take the address from `REPOSITORY_URL`; without it there are none, and links stay relative."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository := os.environ.get("REPOSITORY_URL", "").rstrip("/"):
            metadata["urls"] = {
                "Documentation": f"{repository}/tree/HEAD/docs",
                "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
                "Issues": f"{repository}/issues",
                "Source": repository,
            }
            readme = _RELATIVE.sub(lambda found: _point_into(repository, found), readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def _point_into(repository: str, found: re.Match[str]) -> str:
    kind = "raw" if found[1] else "blob"  # pictures are shown, pages are opened
    return f"{found[0]}{repository}/{kind}/HEAD/"
