"""What a subagent does: the transcript of its session."""
