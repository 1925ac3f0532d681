"""Which lines are in sight, and the widgets that show them."""
