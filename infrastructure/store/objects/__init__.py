"""Large outputs and former contents of files in an object store."""
