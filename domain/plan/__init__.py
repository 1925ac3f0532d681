"""A plan: the tasks of a piece of work, with what each may write and run, and how far they are."""
