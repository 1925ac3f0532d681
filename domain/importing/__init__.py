"""What other agents keep, in our own words."""
