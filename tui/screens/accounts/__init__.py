"""Screens about what a session used, what it has from outside, and logins of its servers."""
