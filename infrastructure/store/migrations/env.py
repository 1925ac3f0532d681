"""What Alembic runs to change a schema, on the connection that it was given."""

from __future__ import annotations

from alembic import context
from sqlalchemy.engine import Connection


def run_migrations(connection: Connection) -> None:
    """Run the revisions that are missing, on a connection that is in a transaction."""
    context.configure(connection=connection, transactional_ddl=False)
    context.run_migrations()


run_migrations(context.config.attributes["connection"])
