"""Finding text in the transcript."""
