"""Small parts that several screens use."""
