"""Running a person's or a model's shell commands, and leaving nothing of them behind."""
