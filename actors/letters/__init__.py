"""The dead letters: looking at them, and getting rid of them one way or the other."""
