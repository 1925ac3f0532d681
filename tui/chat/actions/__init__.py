"""What commands and keys do, by what they act on."""
