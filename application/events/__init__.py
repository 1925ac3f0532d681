"""The one way events leave a run."""
