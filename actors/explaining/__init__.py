"""`seatwarden explain`: the story of a turn in plain words, from the audit stream."""
