"""`quorum --demo`: the guided tour, with nothing of the person's own in reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from quorum.cli.app import AppOptions
from quorum.domain.replacing import replace
from quorum.errors import UsageError

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
        self.assertEqual(total([(3, 4), (5, 2)]), 22)


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
def open_demo_place() -> Iterator[DemoPlace]:
    """Make the folder; it is gone afterwards. Raises OSError where it cannot be made."""
    with TemporaryDirectory(prefix="quorum-tour-", ignore_cleanup_errors=True) as folder:
        base = Path(folder).resolve()
        project = base / "shop"
        project.mkdir()
        for name, content in _FILES.items():
            (project / name).write_text(content)
        kept = {f"XDG_{name}_HOME": str(base / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
        yield DemoPlace(project, kept)


_OFFLINE = "offline/offline"


def run_demo(options: AppOptions) -> int:
    """Show the tour until it is left; its exit code. Raises UsageError where it cannot be shown."""
    from quorum.app.terminal import take_terminal
    from quorum.cli.app.full_screen import show_app

    with ExitStack() as stack:
        try:
            place = stack.enter_context(open_demo_place())
            os.chdir(place.project)
        except OSError as error:
            raise UsageError(
                f"the tour needs a folder for temporary files: {error}; name one with TMPDIR"
            ) from error
        os.environ.update(place.environment)
        # what the person has set up elsewhere must neither change the tour nor be changed by it
        for name in [name for name in os.environ if name.startswith("QUORUM_")]:
            del os.environ[name]
        toured = replace(options, workdir=place.project, models=(_OFFLINE,), quiet=True)
        with take_terminal(is_tour=True, overrides=toured.overrides) as early_prompt:
            return show_app(toured, place.project, early_prompt)
