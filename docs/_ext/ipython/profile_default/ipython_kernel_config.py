"""Settings of the kernels that make the outputs: no remarks about how they talk to the builder."""

c.IPKernelApp.log_level = "ERROR"  # type: ignore[name-defined] # noqa: F821 - IPython puts it here
