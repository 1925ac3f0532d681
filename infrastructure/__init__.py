"""Adapters: providers, tools, configuration, and the container that wires them."""
