"""Tables of finished runs, and the words for metrics and units."""
