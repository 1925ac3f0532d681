"""Sessions that are submitted to a queue, and advanced by workers."""
