"""Former contents outside of the database: its row then holds the place where they are."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, func, not_

from infrastructure.storage_backend import ContentObjects
from infrastructure.store.sql.schema import contents

KEPT_INLINE_BYTES = 4096
"""Contents that compress to at most so much stay in the database: a request takes longer than a row."""
# Data of zlib never begins so: the low half of its first byte is 8.
_MARK = b"s3://"
_LONGEST_PLACE = 4096


def encode_place(place: str) -> bytes:
    """What the row of a content holds that is kept at this place."""
    return place.encode()


def read_place(data: object) -> str | None:
    """The place where the content of a row is; None where it is in the row itself."""
    if not isinstance(data, bytes) or not data.startswith(_MARK) or len(data) > _LONGEST_PLACE:
        return None
    return data.decode(errors="replace")


def is_within_reach(objects: ContentObjects | None) -> ColumnElement[bool]:
    """Selects the rows whose content is in the database, or where these objects are."""
    # Only rows that may hold a place are read: the others are large, and their length is known without that.
    is_elsewhere = and_(
        func.length(contents.c.data) <= _LONGEST_PLACE,
        func.substr(contents.c.data, 1, len(_MARK)) == _MARK,
    )
    if objects is None:
        return not_(is_elsewhere)
    return not_(and_(is_elsewhere, contents.c.data != encode_place(objects.place)))
