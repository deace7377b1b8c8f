"""What the tests run against: a real runtime process, and an activator that does as much as a runtime needs of one."""
