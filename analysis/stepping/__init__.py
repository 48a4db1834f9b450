"""A run decision by decision."""
