"""The question whether to continue past a spend cap."""
