"""Calls that models write into their text, in the forms of their chat templates."""
