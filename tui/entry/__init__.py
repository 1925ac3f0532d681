"""What each command of `quorum` does, and the only package of the front ends that sees infrastructure.

A module here is named after its command; `composition` and `settings` are what several of them begin with.
"""
