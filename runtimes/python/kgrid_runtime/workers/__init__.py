"""Worker processes: one for the code of each version of a knowledge object."""
