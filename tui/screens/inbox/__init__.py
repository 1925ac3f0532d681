"""The screen of decisions that wait in any session."""
