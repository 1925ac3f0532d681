"""The menu that appears while a command or a file is being typed."""
