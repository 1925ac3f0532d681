"""Where large outputs are kept, and how they are read again."""
