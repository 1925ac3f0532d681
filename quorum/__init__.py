"""The program `quorum`. The layers are its packages `domain`, `application`, `infrastructure` and `tui`."""
