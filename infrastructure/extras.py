"""The optional parts of an installation: whether one is there, and the command that installs it."""

from __future__ import annotations

import importlib.util


def is_installed(module: str) -> bool:
    """Whether a module could be imported; it is not."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def render_install_command(extra: str) -> str:
    """What installs the extra of this name, for a shell."""
    return f'pip install "quorum-agent[{extra}]"'
