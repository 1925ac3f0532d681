"""A panel: several models that answer the same question at the same time."""
