"""What stands in and around an empty prompt, the same before and after the app is loaded."""

SIGN = " ›"
PLACEHOLDER = "Ask for something, / for commands, @ for files"
STARTING = "starting…"
