"""The question whether to trust what a folder brings along."""
