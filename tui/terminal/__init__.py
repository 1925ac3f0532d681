"""The terminal: its driver, its input, its title, notifications."""
