"""The conversation with a model: messages, responses, size, cost and compaction."""
