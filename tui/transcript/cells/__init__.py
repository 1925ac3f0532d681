"""Lines of terminal cells: widths, wrapping, marks, links and styles."""
