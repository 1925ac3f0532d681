"""A session that could not be opened, for a reason that was foreseen or not."""

from __future__ import annotations

import traceback
from pathlib import Path

USAGE, PROVIDER = 2, 4


class StartFailure(Exception):
    """Opening a session failed. The text is one sentence for the person, without secrets.

    It wraps every kind of error, so that none leaves the app waiting or ends it with a traceback. `exit_code`
    is that of a quorum which cannot continue without this session.
    """

    def __init__(self, error: Exception) -> None:
        try:
            from quorum.domain.errors import ProviderError, QuorumError
            from quorum.domain.events.masking import SecretMask
        except ImportError as missing:  # the installation is incomplete, and this explains all that followed
            super().__init__(f"a part of quorum cannot be loaded: {missing}; install quorum again")
            self.exit_code = USAGE
            return
        if isinstance(error, QuorumError):
            super().__init__(str(error))
        else:
            super().__init__(SecretMask().mask_text(_render_unforeseen(error)))
        self.exit_code = PROVIDER if isinstance(error, ProviderError) else USAGE


def _render_unforeseen(error: Exception) -> str:
    reason = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, ImportError):
        return f"a part of quorum cannot be loaded: {reason}{place}; install quorum again"
    return f"the session could not be opened: {reason}{place}; quorum doctor may tell why"
