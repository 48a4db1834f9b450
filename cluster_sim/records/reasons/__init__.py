"""Why jobs waited and what became of them, in words."""
