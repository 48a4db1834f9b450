"""What if the configuration of a Slurm cluster were another one? A log is replayed as it is and with the change.

| module | holds |
|---|---|
| ``what_if`` | :func:`~analysis.whatif.what_if.what_if`: from a log and a slurm.conf to a study |
| ``study`` | :class:`~analysis.whatif.study.Study`, and its page |
| ``replayed`` | how well the replay without a change agrees with the log, and what explains the rest |
| ``effects`` | what the change makes, by partition, account, size, limit and user, with intervals over weeks |
| ``charts`` | figures |
"""
