"""The transcript: a pure model of what happened, and one line-rendered view over it."""
