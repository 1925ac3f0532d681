"""What commands and code can do that a person would want to be asked about."""
