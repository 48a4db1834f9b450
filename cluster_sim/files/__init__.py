"""Files, whatever is in them: read within limits, written whole or not at all, one program to a folder."""
