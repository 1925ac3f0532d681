"""What calls really change on the disk."""
