"""The calls of other agents: tools that stand for them, and the session they are decided about in."""
