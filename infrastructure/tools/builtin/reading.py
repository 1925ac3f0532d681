"""What a tool that reads a file or folder declares to touch."""

from __future__ import annotations

from domain.calls.access import Access
from infrastructure.execution.shell.git_secrets import is_secret_settings
from infrastructure.files.workspace import Location


def declare_reading(location: Location) -> Access:
    """The access of a call that shows what stands in a file, or below a folder."""
    return Access.of(reads=location.resources, secret=filter(is_secret_settings, location.resources))
