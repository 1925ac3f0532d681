"""Deciding about the calls of other agents."""
