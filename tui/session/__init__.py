"""The session behind a chat: its agent, its facts, its approver."""
