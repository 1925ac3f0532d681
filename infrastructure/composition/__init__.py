"""The composition root: typed groups of the parts of a session, each built when it is first asked for."""
