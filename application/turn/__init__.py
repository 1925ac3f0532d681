"""A turn: one prompt, through the model and its tools, to an ending."""
