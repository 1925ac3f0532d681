"""What the chat does: a controller for each concept, whose actions keys, slash commands and palette name."""
