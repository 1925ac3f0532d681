"""What a review says, as rows of text: what would run, what there is to know of it, and the votes."""
