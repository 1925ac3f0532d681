"""Hooks as the settings declare them: commands and classes, loaded, run and tried out."""
