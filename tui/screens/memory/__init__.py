"""The question whether to add a line to an instruction file."""
