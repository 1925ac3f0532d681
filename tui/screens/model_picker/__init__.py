"""The model picker: what the providers list, filtered by what is typed."""
