"""Tools that the person declares in the settings: a program with its arguments, run without a shell."""
