"""The project of the tour: what the tour says of its tests is true."""

from __future__ import annotations

import subprocess
import sys

from quorum.cli.app.demo import open_demo_place


def _run_tests(folder: str) -> int:
    # Python takes a compiled module for a current one if the source has the same size and second.
    without_compiled = ["-B", "-m", "unittest", "-q"]
    done = subprocess.run([sys.executable, *without_compiled], cwd=folder, capture_output=True, check=False)
    return done.returncode


def test_the_tests_of_the_tour_find_the_mistake_and_pass_once_it_is_mended() -> None:
    with open_demo_place() as place:
        shop = place.project / "shop.py"
        with_mistake = _run_tests(str(place.project))
        shop.write_text(shop.read_text().replace("price + quantity", "price * quantity"))

        assert (with_mistake, _run_tests(str(place.project))) == (1, 0)
