"""Six hooks to use as they are or to start from; each takes its settings as keyword arguments."""
