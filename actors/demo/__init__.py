"""`seatwarden demo`: real hands, made-up disconnections, and what is decided for whom."""
