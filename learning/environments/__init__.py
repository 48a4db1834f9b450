"""The environments: JobNode, PolicySelection and NodeShutdown, on one way of stepping a simulation."""
