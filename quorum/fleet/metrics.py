"""The numbers of a fleet: printed, and sent by its workers."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.fleet_session import FleetGauge, measure_fleet
from quorum.errors import complain
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.extras import find_own_version, is_installed, render_install_command

if TYPE_CHECKING:
    from quorum.application.ports.fleet import Fleet
    from quorum.infrastructure.config.loading import LoadedSettings

_EVERY_SECS = 60.0
_CLAIMED = 1.5
"""For so many rounds whoever sends is left to it: as long a gap is there after its end."""


def read_fleet_gauges(fleet: Fleet, loaded: LoadedSettings) -> tuple[FleetGauge, ...]:
    """How the fleet stands now. Blocks. Raises LedgerError and ConfigError."""
    from quorum.infrastructure.storage import open_storage

    storage = open_storage(loaded.settings.storage, os.environ)
    try:
        listed = asyncio.run(storage.archive.list_sessions())
    finally:
        storage.close()
    costs = {summary.id: summary.cost_usd for summary in listed if summary.cost_usd is not None}
    return tuple(
        measure_fleet(fleet.list_sessions(), fleet.list_workers(), costs, now_ms=fleet.read_clock_ms())
    )


async def send_fleet_metrics(
    fleet: Fleet, loaded: LoadedSettings, sender: str, *, every_secs: float = _EVERY_SECS
) -> None:
    """Send them regularly, if the settings name a collector, until cancelled. An outage leaves a gap.

    Of the workers that name the same collector one sends, so that sums over all senders are right.
    """
    endpoint = loaded.settings.telemetry.otlp_endpoint
    if not endpoint:
        return
    if not is_installed("opentelemetry.exporter.otlp.proto.http"):
        complain([f"telemetry.otlp_endpoint is set, and no metrics are sent: {render_install_command('otel')}"])
        return
    from quorum.infrastructure.telemetry.otlp import FleetNumbers

    def read() -> tuple[str, tuple[FleetGauge, ...]]:
        instance = fleet.claim_metrics(endpoint, sender, every_secs * _CLAIMED)
        return instance, read_fleet_gauges(fleet, loaded) if instance else ()

    numbers: FleetNumbers | None = None
    while True:
        with suppress(LedgerError, ConfigError):
            # A worker that ends does not wait for a database that is away.
            instance, gauges = await run_in_thread(lambda _stop: read())
            if instance:
                numbers = numbers or FleetNumbers(endpoint, version=find_own_version(), instance=instance)
                await asyncio.to_thread(numbers.send, gauges)
        await asyncio.sleep(every_secs)
