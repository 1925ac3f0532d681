"""Finds what other agents keep on this machine, and takes it over."""
