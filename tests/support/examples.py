"""How many examples a property test tries: all of them in `make test-long`, some in `make test`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hypothesis import HealthCheck, settings

QUICK = "quick"
_SHARE = 10
_FEWEST = 5

# Nothing looks at the time: how long it takes to make and try an example depends on what else the machine does.
_UNCHECKED = (HealthCheck.too_slow,)
settings.register_profile("default", deadline=None, suppress_health_check=_UNCHECKED)
settings.load_profile("default")
settings.register_profile(QUICK, max_examples=100 // _SHARE, deadline=None, suppress_health_check=_UNCHECKED)


def examples(most: int, *, unchecked: Collection[HealthCheck] = (), **more: Any) -> settings:
    """Settings of a test that tries `most` examples, or a tenth of them in the profile `quick`."""
    tried = max(most // _SHARE, min(most, _FEWEST)) if settings.get_current_profile_name() == QUICK else most
    return settings(max_examples=tried, deadline=None, suppress_health_check=(*_UNCHECKED, *unchecked), **more)
