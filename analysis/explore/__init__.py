"""The app of ``cluster-sim explore``: choose, run, look, and step through the scheduler's decisions.

| module | holds |
|---|---|
| ``offers`` | what can be chosen in the page: nothing that reads a file, but for what was named at the start |
| ``changes`` | what a user changes in a run's workload: jobs of one's own, jobs taken out |
| ``runs`` | choices, and the runs that they lead to, kept for a while |
| ``panels`` | a step, a queue and the nodes as elements of the page |
| ``layout``, ``style`` | the page |
| ``callbacks`` | what happens on a click: functions of what the page holds |
| ``app`` | the Dash app and its server |

Needs Dash (``cluster-sim[app]``); ``offers``, ``changes`` and ``runs`` do without.
"""
