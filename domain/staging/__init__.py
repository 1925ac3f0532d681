"""A turn in a layer: what it changed there, and what of that the person takes over into the workspace."""
