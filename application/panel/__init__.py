"""Panels: several models asked at the same time, and what is made of their answers."""
