"""Tools and their calls: definitions, access, order, execution, effects and outputs."""
