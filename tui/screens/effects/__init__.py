"""The review of what a turn changed in its layer."""
