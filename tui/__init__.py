"""The full-screen app: screens, widgets, keys and what they draw."""
