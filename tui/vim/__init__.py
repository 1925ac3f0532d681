"""Vim's modes over a text. Knows no widget: keys go in, a text and a cursor come out."""
