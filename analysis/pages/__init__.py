"""The engine of pages: templates, figures made small, tables as HTML."""
