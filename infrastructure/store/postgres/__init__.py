"""The ledger in PostgreSQL, which several machines share."""
