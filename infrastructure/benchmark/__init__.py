"""Labelled calls and recorded ballots from files, and the layers of review that need no model."""
