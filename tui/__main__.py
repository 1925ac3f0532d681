"""Starts the program for a set-up that is older than the package `quorum`; `make setup` renews it."""

from __future__ import annotations

from importlib import import_module


def main() -> None:
    """Run the program."""
    import_module("quorum.__main__").main()


if __name__ == "__main__":
    main()
