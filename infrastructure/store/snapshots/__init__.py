"""Files as they were: looking at them, keeping what they hold, giving it back."""
