"""What another policy would decide: the same events replayed under two, and compared."""
