"""JobsAndNodes: one agent starts jobs and puts idle nodes to sleep."""
