"""How a command line is read: commands, options, help, completion and the manual page."""
