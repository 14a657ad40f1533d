"""What an operator can ask about policies: list, show, explain, check, diff, schema."""
