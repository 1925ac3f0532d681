"""The offline provider: no model, no network, a plain interpreter that drives the real tools."""

from infrastructure.providers.offline.wire import OfflineWire

__all__ = ["OfflineWire"]
