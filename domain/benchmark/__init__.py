"""Measuring reviewers and guards on labelled calls."""
