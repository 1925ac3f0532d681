"""Sessions as their recorded events describe them: replay, hash chain, restoration, trust."""
