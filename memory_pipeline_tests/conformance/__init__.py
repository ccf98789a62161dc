"""What every store must do: the same tests for each factory in ``conftest.FACTORIES``."""
