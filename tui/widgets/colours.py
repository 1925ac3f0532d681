"""The names of colours that each theme is given, as styles."""

QUIET, MARKED = "$text-quiet", "$marked-line"
"""That of what stands back, and that of the ground of a list's marked line."""
