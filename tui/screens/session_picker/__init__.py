"""The session picker: every session there is, filtered by what is typed."""
