"""GitHub Copilot, through its own CLI and official SDK. Nothing else imports that SDK."""
