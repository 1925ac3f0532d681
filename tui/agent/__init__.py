"""The session of the app at work: how it is opened, the turns and commands it runs, and what it tells."""
