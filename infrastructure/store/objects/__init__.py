"""Large outputs in an object store."""
