"""The names of quorum's own packages, which plug-ins and hooks cannot use for packages of their own."""

from __future__ import annotations

OWN_PACKAGES = frozenset({"domain", "application", "infrastructure", "tui", "quorum"})


def find_name_conflict(module: str | None) -> str:
    """Explain that `module` is found in quorum instead of in the person's code; empty for any other name."""
    package = (module or "").partition(".")[0]
    if package not in OWN_PACKAGES:
        return ""
    return (
        f"; quorum itself has a package {package}, and Python finds that one: "
        f"give yours another name, or run your code as a command"
    )
