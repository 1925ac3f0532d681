"""How many examples a property test tries: all of them in `make test-long`, some in `make test`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

QUICK = "quick"
_SHARE = 10
_FEWEST = 5

# No deadlines: how long an example takes depends on what else the machine does.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
settings.register_profile(QUICK, max_examples=100 // _SHARE, deadline=None)


def examples(most: int, **more: Any) -> settings:
    """Settings of a test that tries `most` examples, or a tenth of them in the profile `quick`."""
    tried = max(most // _SHARE, min(most, _FEWEST)) if settings.get_current_profile_name() == QUICK else most
    return settings(max_examples=tried, deadline=None, **more)
