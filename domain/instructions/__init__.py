"""What a project and a person tell the agent: instruction files, and how they are put to a model."""
