"""OpenAI Responses, through the official SDK."""
