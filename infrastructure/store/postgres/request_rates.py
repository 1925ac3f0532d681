"""Request rates that all processes on one database share."""

from __future__ import annotations

from quorum.domain.request_rate import RequestRate
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.store.postgres.server import PostgresServer

# One statement, so that the row's lock is all that those who ask at once wait for. The server's clock counts:
# those of the machines differ. It is read once the row is locked.
_RESERVE = (
    "INSERT INTO request_rates AS rates (provider, tokens, filled_at)"
    " VALUES (:provider, :burst - 1, clock_timestamp())"
    " ON CONFLICT (provider) DO UPDATE SET filled_at = clock_timestamp(), tokens = LEAST(:burst, rates.tokens"
    " + GREATEST(0, EXTRACT(EPOCH FROM clock_timestamp() - rates.filled_at)) * :per_second) - 1"
    " RETURNING tokens"
)


class PostgresPacer:
    """Implements `RequestPacer` with a row for each provider."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    async def reserve(self, provider: str, rate: RequestRate) -> float:
        """Take one request of this rate; the seconds until it may be sent. Raises LedgerError."""
        return await run_in_thread(lambda _stop: self._reserve(provider, rate))

    def _reserve(self, provider: str, rate: RequestRate) -> float:
        given = {"provider": provider, "burst": rate.burst, "per_second": rate.per_second}
        with (
            self._server.translate_errors("cannot be written"),
            self._server.connect() as connection,
            self._server.begin_transaction(connection),
        ):
            left = float(connection.execute(_RESERVE, given).scalar_one())
        return rate.compute_wait(left)
