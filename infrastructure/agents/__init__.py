"""Agents of other vendors, driven over the Agent Client Protocol on their stdin and stdout."""
