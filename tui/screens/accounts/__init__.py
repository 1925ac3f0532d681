"""Accounts: what the requests of a session used and cost."""
