"""The findings of a code review: a list of them, each of which opens its place."""
