"""Exact formulas over counts: no approximation that fails for the small numbers of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

_Z95 = 1.959963984540054  # the 97.5th percentile of the normal distribution


class Rate(Struct, frozen=True):
    """So many of so many. The share of none is 0."""

    count: int
    of: int

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson's score, which holds for few and for no cases too."""
        if not self.of:
            return (0.0, 1.0)
        square = _Z95 * _Z95
        centre = (self.count + square / 2) / (self.of + square)
        spread = _Z95 * math.sqrt(self.count * (self.of - self.count) / self.of + square / 4)
        half = spread / (self.of + square)
        low = 0.0 if self.count == 0 else centre - half
        high = 1.0 if self.count == self.of else centre + half
        return (max(0.0, low), min(1.0, high))


def compute_mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p of McNemar's test, exact: how likely so uneven a split of the cases is by chance.

    The arguments count the cases in which only the first, or only the second, of two judges was wrong.
    """
    disagreements = only_first + only_second
    if not disagreements:
        return 1.0
    tail = sum(math.comb(disagreements, count) for count in range(min(only_first, only_second) + 1))
    return min(1.0, float(Fraction(2 * tail, 1 << disagreements)))


def find_percentile(values: Sequence[float], share: float) -> float | None:
    """The nearest-rank percentile; None without values. `share` lies above 0 and is at most 1."""
    if not values:
        return None
    return sorted(values)[math.ceil(share * len(values)) - 1]
