"""What runs the statecharts: actors, shards, the way to the broker, and the commands."""
