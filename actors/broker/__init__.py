"""What there is on the broker: names, slots, the layout in force, streams."""
