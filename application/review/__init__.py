"""Review of a call: the votes of the models and the questions to the person."""
