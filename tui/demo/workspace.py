"""The folder of the tour: a small project with a fault in it, and a home of its own for all that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_FILES = {
    "shop.py": '''"""What a basket costs."""


def total(items):
    """The sum of all items, each a price and a quantity."""
    # TODO: a discount for regular customers
    return sum(price + quantity for price, quantity in items)
''',
    "test_shop.py": """import unittest

from shop import total


class TotalTest(unittest.TestCase):
    def test_two_items(self):
        self.assertEqual(total([(3, 2), (5, 1)]), 11)


if __name__ == "__main__":
    unittest.main()
""",
    "README.md": "# Shop\n\nTODO: say how to run the tests (`python3 -m unittest`).\n",
}


class DemoPlace(NamedTuple):
    """Where the tour takes place: the project, and the variables that keep everything else apart."""

    project: Path
    environment: dict[str, str]


@contextmanager
def demo_place() -> Iterator[DemoPlace]:
    """Make the folder; it is gone afterwards. Raises OSError where it cannot be made."""
    with TemporaryDirectory(prefix="quorum-tour-", ignore_cleanup_errors=True) as folder:
        base = Path(folder).resolve()
        project = base / "shop"
        project.mkdir()
        for name, content in _FILES.items():
            (project / name).write_text(content)
        kept = {f"XDG_{name}_HOME": str(base / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
        yield DemoPlace(project, kept)
