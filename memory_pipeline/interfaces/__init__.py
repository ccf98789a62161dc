"""What people and programs use: the command line now; servers and the memory browser later."""
