"""Prompts answered without a screen."""
