"""The program `quorum`. An installed quorum holds its other packages below this folder."""
