"""What the machine draws, may draw, and would draw."""
