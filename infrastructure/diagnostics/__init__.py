"""Programs that check edited files."""
