"""`seatwarden doctor`: whether the service can do its work on a broker, and what to do if not."""
