"""What is known of rows: counted before they move, observed while they do, timed in functions."""
