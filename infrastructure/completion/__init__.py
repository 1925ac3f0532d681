"""What a shell offers to complete: names of this machine, read without loading what works with them."""
