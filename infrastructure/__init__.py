"""Adapters for the ports of `application`, and the composition root."""
