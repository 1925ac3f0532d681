"""Anthropic Messages, through the official SDK."""
