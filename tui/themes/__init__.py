"""The colours of the app, and how it looks without any."""
