"""Issues and pull requests that prompts name."""
