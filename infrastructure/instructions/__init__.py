"""Instruction files on this machine."""
