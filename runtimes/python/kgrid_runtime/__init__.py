"""What installs packages for knowledge objects written in Python."""
