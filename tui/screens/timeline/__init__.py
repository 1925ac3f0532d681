"""The timeline of a session: what happened when, on a screen of its own."""
