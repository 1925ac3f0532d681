"""The screen on which the rules about calls are looked at, changed and tried out."""
