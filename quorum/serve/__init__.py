"""`quorum serve`: the app in a browser, and pending reviews on a page for a phone."""
