"""What a tool that reads or writes files declares to touch."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.domain.calls.access import Access
from quorum.infrastructure.execution.shell.repository import is_secret_settings
from quorum.infrastructure.files.file_metadata import find_other_names, list_known_names
from quorum.infrastructure.files.workspace import Location


def declare_reading(location: Location) -> Access:
    """The access of a call that shows what stands in a file, also under its other names, or below a folder."""
    names = () if location.is_outside else list_known_names(location.path, location.root)
    return Access.of(
        reads=(*location.resources, *names),
        secret=filter(is_secret_settings, location.resources),
        outside=location.outside,
    )


def declare_listing(location: Location) -> Access:
    """The access of a call that shows the names below a folder."""
    return Access.of(reads=location.resources, outside=location.outside)


def declare_writing(locations: Iterable[Location]) -> Access:
    """The access of a call that changes these files, also under their other names."""
    places = tuple(locations)
    return Access.of(
        writes=(path for place in places for path in (*place.resources, *(find_other_names(place) or ()))),
        outside=(path for place in places for path in place.outside),
    )
