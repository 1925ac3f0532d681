"""Settings: where they are written, what they may be, which of them wins, and how they are shown."""
