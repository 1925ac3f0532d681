"""Taking back turns: which one, what that would change, and how much of it."""
