"""Heights of entries with running sums: where a line falls, found without walking all entries."""

from __future__ import annotations


class Heights:
    """Line counts in order. Every operation takes time logarithmic in their number (a Fenwick tree)."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        """Add an entry at the end."""
        self._heights.append(height)
        place = len(self._heights)
        self._tree.append(height + self.before(place - 1) - self.before(place - (place & -place)))

    def set(self, index: int, height: int) -> int:
        """Change one height; answers by how much it grew."""
        delta = height - self._heights[index]
        if delta:
            self._heights[index] = height
            place = index + 1
            while place < len(self._tree):
                self._tree[place] += delta
                place += place & -place
        return delta

    def before(self, index: int) -> int:
        """How many lines stand above the entry at `index`; for the number of entries: all lines."""
        total = 0
        while index:
            total += self._tree[index]
            index -= index & -index
        return total

    @property
    def total(self) -> int:
        return self.before(len(self._heights))

    def find_entry(self, line: int) -> tuple[int, int]:
        """The entry a line falls into, and the line's number within it. Raises IndexError beyond the end."""
        if not 0 <= line < self.total:
            raise IndexError(f"line {line} is outside the {self.total} lines there are")
        place = 0
        step = 1 << (len(self._heights).bit_length())
        while step:
            further = place + step
            if further < len(self._tree) and self._tree[further] <= line:
                place = further
                line -= self._tree[further]
            step >>= 1
        return place, line
