"""What is true without any I/O: conversation, tools, execution, review, events. Standard library only."""
