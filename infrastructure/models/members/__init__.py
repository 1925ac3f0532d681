"""Agent programs of other vendors as models that only answer: one process a question, without tools."""
