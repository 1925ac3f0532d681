"""Text as such: wildcards, JSON as text, what is safe to print, ages and amounts."""
