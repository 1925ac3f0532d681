"""The question whether to go on past a spend cap."""
