"""What a scheduler and a power policy are, and the registries of both."""
