"""Changes of the schema from version to version, as Alembic makes them. Nothing loads it but `quorum db`."""
