"""The offline provider: no model, no network, a plain interpreter that drives the real tools."""

from quorum.infrastructure.models.offline.api_client import OfflineApiClient

__all__ = ["OfflineApiClient"]
