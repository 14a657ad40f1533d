"""What a worker counts of itself, without knowing who asks."""
