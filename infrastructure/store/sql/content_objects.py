"""Former contents outside of the database: its row then holds the place where they are."""

from __future__ import annotations

from quorum.infrastructure.storage_backend import ContentObjects

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


# Only rows that may hold a place are read: the others are large, and their length is known without that.
IS_WITHIN_REACH = (
    f"NOT (LENGTH(data) <= {_LONGEST_PLACE} AND SUBSTR(data, 1, {len(_MARK)}) = :mark AND data <> :here)"
)
"""Whether the content of a row is in the database, or where the objects of `name_reach` are."""


def name_reach(objects: ContentObjects | None) -> dict[str, object]:
    """The values of IS_WITHIN_REACH."""
    return {"mark": _MARK, "here": b"" if objects is None else encode_place(objects.place)}
