"""`quorum --demo`: the guided tour, with nothing of the person's own in reach."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace

from quorum.cli.errors import UsageError
from quorum.options import Options
from tui.demo.workspace import demo_place

_OFFLINE = "offline/offline"


def run_demo(options: Options) -> int:
    """Show the tour until it is left; its exit code. Raises UsageError where it cannot be shown."""
    from quorum.cli.full_screen import run_app

    with ExitStack() as stack:
        try:
            place = stack.enter_context(demo_place())
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
        return run_app(toured, place.project)
