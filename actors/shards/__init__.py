"""A shard: many seats of many tables, as a function of what comes through its queue."""
