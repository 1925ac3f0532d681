"""The screen of what runs, waits for the person and has ended."""
