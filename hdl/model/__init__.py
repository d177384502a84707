"""Python models of what the hardware modules must do, with exact integers."""
