"""The Gantt chart: from the cores that were held to rectangles, traces and hovers."""
