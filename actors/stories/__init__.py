"""The story of each turn: what was heard, what changed, what was decided; told when it closes."""
