"""What the answers of a panel come to: a conclusion, and who said what."""

from __future__ import annotations

from msgspec import Struct


class Point(Struct, frozen=True, kw_only=True):
    """Something that these answers, named by their labels, say."""

    text: str
    answers: tuple[str, ...]


class Claim(Struct, frozen=True, kw_only=True):
    """What these answers claim where others claim something else."""

    text: str
    answers: tuple[str, ...]


class Disagreement(Struct, frozen=True, kw_only=True):
    """A question on which the answers differ, with two claims or more."""

    text: str
    claims: tuple[Claim, ...]


class Synthesis(Struct, frozen=True, kw_only=True):
    """What a moderator makes of all answers. Each point is traced to the answers that it is from.

    `left_out` says of each entry that could not be read where it stood, and why.
    """

    conclusion: str
    key_points: tuple[Point, ...]
    agreement: tuple[Point, ...]
    disagreement: tuple[Disagreement, ...]
    left_out: tuple[str, ...] = ()
