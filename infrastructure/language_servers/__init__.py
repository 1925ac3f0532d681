"""Language servers: what they find new after edits, and what `code_lookup` asks them."""
