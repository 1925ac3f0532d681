"""Code review: a change, what reviewers find in it, and what their findings and votes come to."""
