"""What a seat does.  Pure: no clock, no I/O, no chance; time is an argument."""
