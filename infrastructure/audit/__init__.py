"""Signed exports of sessions, for whoever has to be able to check them without quorum."""
