"""The numbers of a fleet: printed, and sent by its workers."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.fleet_metrics import FleetGauge, measure_fleet
from quorum.errors import complain
from quorum.infrastructure.extras import find_own_version, is_installed, render_install_command

if TYPE_CHECKING:
    from quorum.application.ports.fleet import Fleet
    from quorum.infrastructure.config.loading import LoadedSettings

_EVERY_SECS = 60.0


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
    fleet: Fleet, loaded: LoadedSettings, instance: str, *, every_secs: float = _EVERY_SECS
) -> None:
    """Send them regularly, if the settings name a collector, until cancelled. An outage leaves a gap."""
    endpoint = loaded.settings.telemetry.otlp_endpoint
    if not endpoint:
        return
    if not is_installed("opentelemetry.exporter.otlp.proto.http"):
        complain([f"telemetry.otlp_endpoint is set, and no metrics are sent: {render_install_command('otel')}"])
        return
    from quorum.infrastructure.telemetry.fleet_numbers import FleetNumbers

    numbers = FleetNumbers(endpoint, version=find_own_version(), instance=instance)
    while True:
        with suppress(LedgerError, ConfigError):
            gauges = await asyncio.to_thread(read_fleet_gauges, fleet, loaded)
            await asyncio.to_thread(numbers.send, gauges)
        await asyncio.sleep(every_secs)
