"""The screen on which settings are looked at and changed."""
