"""A session as front ends hold it."""
