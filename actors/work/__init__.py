"""What a worker does: it stands in line for shards, owns them, and works on them."""
