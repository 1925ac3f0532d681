"""The app that takes the place of this one: in a layer over the workspace, or out of it."""

from __future__ import annotations

from typing import NamedTuple


class Restart(NamedTuple):
    """In which `mode` it begins, and with which `session`; empty: with what the command line names."""

    mode: str
    session: str = ""
