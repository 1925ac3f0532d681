"""The page of pending reviews: what is asked, and a link for each answer."""
