"""The jobs of a run: submitted, admitted, started, changed, ended."""
