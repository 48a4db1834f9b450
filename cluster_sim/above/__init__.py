"""What cluster_sim offers of the packages above it: ours, also beside a user's folders of the same names."""
