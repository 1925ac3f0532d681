"""What cards show of a call by its kind: one module for each way to look at an output."""
