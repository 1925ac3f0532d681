"""What is installed: the optional parts and how to get them, and which version of the program, from where."""

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


def find_own_version() -> str:
    """The version that is installed; "unknown" where the program runs from its sources."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and few ask

    try:
        return version("quorum-agent")
    except PackageNotFoundError:
        return "unknown"


def find_own_address() -> str:
    """Where the sources of the installed version are; empty where its release does not say."""
    from importlib.metadata import PackageNotFoundError, metadata  # slow to import, and few ask

    try:
        addresses = metadata("quorum-agent").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((each.partition(", ")[2] for each in addresses if each.startswith("Source, ")), "")
