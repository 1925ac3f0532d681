"""A folder that is on no machine, for tests that show its path: below what is no folder, nothing can be.

Neither it nor its home directory can be a repository, whose branch the header would show.
"""

from __future__ import annotations

NO_HOME = "/dev/null"
NO_FOLDER = f"{NO_HOME}/app"
