"""Plain Python models of the hardware modules: what they shall do, in the shortest words, with exact integers."""
