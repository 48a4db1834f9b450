"""Figures other than the Gantt chart, and the colours, axes and styles that all figures share."""
