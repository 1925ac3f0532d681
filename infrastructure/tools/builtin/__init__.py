"""The built-in tools, each in a module of its name."""
