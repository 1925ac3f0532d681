"""What holds for all tests: their folders have short paths, whatever TMPDIR is.

A Unix socket's path has at most 103 bytes on macOS, whose TMPDIR takes half of that, and a screen of 80 columns
shows a long path in two lines.
"""

from __future__ import annotations

import os
import tempfile

_LONGEST_TEMPORARY_FOLDER = 20

if len(tempfile.gettempdir()) > _LONGEST_TEMPORARY_FOLDER and os.access("/tmp", os.W_OK | os.X_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/tmp")  # where pytest puts its folders
