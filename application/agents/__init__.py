"""Agents of other vendors at work in a session of ours."""
