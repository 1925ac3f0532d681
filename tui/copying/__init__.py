"""Copying what the transcript holds, as it was written."""
