"""Changes to review, read with git and gh. Nothing of the repository is executed, nor does it change."""
