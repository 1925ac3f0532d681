"""Keys: their names, their bindings, and the guard against keys pressed too early."""
