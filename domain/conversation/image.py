"""An image that the person showed a model: what is known of it; its content is kept apart, under its hash."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from msgspec import Struct

from quorum.domain.text.amounts import format_megabytes

MediaType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

# Anthropic: an image is scaled down to these edges and this area, and takes a token for each 750 pixels.
_LONG_EDGE, _MOST_PIXELS, _PIXELS_PER_TOKEN = 1568, 1_150_000, 750
# OpenAI: scaled into a square, then to this short edge, and counted in tiles with a fee on top.
_SQUARE, _SHORT_EDGE, _TILE, _TOKENS_PER_TILE, _FEE = 2048, 768, 512, 170, 85


class Image(Struct, frozen=True, kw_only=True):
    """One image. Its size is in pixels and in bytes; `sha256` is the key of its content, in hexadecimal.

    `name` is one word or a few, printable, and no two images of a session have the same.
    """

    name: str
    media_type: MediaType
    width: int
    height: int
    size_bytes: int
    sha256: str

    @property
    def label(self) -> str:
        """What stands for it in a text: `[image shot.png 1280×720]`."""
        return f"[image {self.name} {self.width}×{self.height}]"

    @property
    def tokens(self) -> int:
        """How many tokens it takes, about: as the vendors document it, the more cautious of them."""
        return max(self._count_by_area(), self._count_by_tiles())

    def _count_by_area(self) -> int:
        scale = min(1.0, _LONG_EDGE / max(self.width, self.height))
        pixels = self.width * scale * self.height * scale
        return math.ceil(min(pixels, _MOST_PIXELS) / _PIXELS_PER_TOKEN)

    def _count_by_tiles(self) -> int:
        scale = min(1.0, _SQUARE / max(self.width, self.height))
        scale *= min(1.0, _SHORT_EDGE / max(1.0, min(self.width, self.height) * scale))
        tiles = math.ceil(self.width * scale / _TILE) * math.ceil(self.height * scale / _TILE)
        return _FEE + _TOKENS_PER_TILE * max(1, tiles)


class ImageLimits(Struct, frozen=True, kw_only=True):
    """What a provider takes in one request. Sizes are in bytes of the files themselves.

    Where there are more than `crowd` images, each may have only `crowd_side` pixels an edge.
    """

    image_bytes: int
    total_bytes: int
    images: int
    side: int | None = None
    crowd: int | None = None
    crowd_side: int | None = None

    def describe_excess(self, image: Image) -> str:
        """In what one image is too much, with the limit; empty where it is not."""
        if image.size_bytes > self.image_bytes:
            found, most = format_megabytes(image.size_bytes), format_megabytes(self.image_bytes)
            return f"it has {found}, and at most {most} are taken"
        longest = max(image.width, image.height)
        if self.side is not None and longest > self.side:
            return f"it is {longest} pixels long, and at most {self.side} are taken"
        return ""

    def find_surplus(self, newest_first: tuple[Image, ...]) -> frozenset[str]:
        """The hashes of those that no longer fit into one request with those before them."""
        fitting = newest_first[: self.images]
        crowded = self.crowd is not None and len(fitting) > self.crowd
        beyond = {image.sha256 for image in newest_first[self.images :]}
        total = 0
        for image in fitting:
            total += image.size_bytes
            too_long = crowded and max(image.width, image.height) > (self.crowd_side or 0)
            if total > self.total_bytes or too_long:
                beyond.add(image.sha256)
        return frozenset(beyond - {image.sha256 for image in newest_first[:1]})
