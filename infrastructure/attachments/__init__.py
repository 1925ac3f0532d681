"""Images of the person: recognised, measured and read."""
