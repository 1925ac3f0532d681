"""The files of a project, to be found by a part of their names."""
