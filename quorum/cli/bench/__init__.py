"""`quorum bench`: the review of calls, measured on labelled ones."""
