"""Background commands of a session: which run, what they print, and how they end."""
