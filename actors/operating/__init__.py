"""What an operator does with a broker: see, make and check what the service needs there."""
