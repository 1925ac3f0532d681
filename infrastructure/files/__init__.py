"""Files of the workspace: the path guard, encodings, ignore rules, atomic replacement."""
