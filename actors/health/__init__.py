"""What a worker tells over HTTP of how it is: needs the extra `http`, but for `endpoint`."""
