"""The published prices of models, and the table made of them and of the person's own."""
