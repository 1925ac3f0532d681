"""The tools a model can call, on real files and processes."""
