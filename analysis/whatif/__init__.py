"""What if the configuration of a Slurm cluster were another one? A log is replayed as it is and with the change.

| module | holds |
|---|---|
| ``study`` | :func:`~analysis.whatif.study.what_if`: from a log and a slurm.conf to a :class:`~analysis.whatif.study.Study` |
| ``replayed`` | how well the replay without a change agrees with the log, and what explains the rest |
| ``effects`` | what the change makes, by partition, account, size, limit and user, with intervals over weeks |
| ``charts`` and ``page`` | figures, and the page |
"""
