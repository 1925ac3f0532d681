"""The system prompt: what quorum says itself, the environment, and the instruction files in force."""
