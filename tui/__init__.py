"""The front ends: command line, full-screen app, headless printer."""
