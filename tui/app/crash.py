"""What is said when the app ends on an error that nobody caught."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

from rich.segment import Segment, Segments

from quorum.domain.events.masking import SecretMask
from quorum.domain.text.printable import make_printable

if TYPE_CHECKING:
    from quorum.tui.session.session import Session


def render_crash(session: Session | None) -> Segments:
    """The traceback of the present error, without the values of variables and without secrets."""
    mask = session.agent.mask if session is not None else SecretMask()
    lines = mask.mask_text(traceback.format_exc()).splitlines()
    if (log := logging.getLogger("quorum")).hasHandlers():  # without one, logging would print it on the screen
        log.error("the app ended on an error:\n%s", "\n".join(lines))
    return Segments([Segment(f"{make_printable(line)}\n") for line in lines])
