"""`--debug`: the log of a run, from its first moment to its last."""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from quorum.domain.events.masking import SecretMask
from quorum.errors import complain
from quorum.infrastructure.debug_log import open_debug_log
from quorum.version import __version__

_log = logging.getLogger("quorum")


@contextmanager
def open_debug_logging(command: str, *, quiet: bool) -> Iterator[None]:
    """Log what happens inside, and how it ends; say on stderr afterwards where. Raises ConfigError.

    Libraries log from INFO on: below that, the SDKs of providers log whole requests.
    """
    log = open_debug_log(os.environ, SecretMask().mask_text)
    root = logging.getLogger()
    root.addHandler(log)
    root.setLevel(logging.INFO)
    _log.setLevel(logging.DEBUG)
    logging.captureWarnings(True)
    _log.info(
        "quorum %s, command %s, Python %s on %s, TERM=%s",
        __version__,
        command,
        platform.python_version(),
        platform.platform(),
        os.environ.get("TERM", ""),
    )
    try:
        yield
    except BaseException as error:
        _log.error("ended by an error", exc_info=error)
        raise
    else:
        _log.info("ended")
    finally:
        sys.stdout.flush()
        if not quiet:
            complain([_build_closing(str(log.path), log.failure)])


def _build_closing(path: str, failure: str | None) -> str:
    if failure is not None:
        return f"the debug log {path} is incomplete: {failure}"
    return f"the debug log is {path}; read it before you send it to anybody"
