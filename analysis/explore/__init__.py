"""The app of ``cluster-sim explore``: choose, run, look, and step through the scheduler's decisions.

| module | holds |
|---|---|
| ``offers`` | what can be chosen in the page: nothing that reads a file, but for what was named at the start |
| ``changes`` | what a user changes in a run's workload: jobs of one's own, jobs taken out |
| ``runs`` | choices, and the runs that they lead to, kept for a while |
| ``panels`` | a run's metrics, a job's story and the changes as elements of the page |
| ``layout`` | the page |
| ``callbacks`` | what happens on a click: functions of what the page holds |
| ``app`` | the Dash app and its server |

Its steps are those of the stepping page: ``analysis.stepping.frames`` works them out, and ``stepper.js`` shows them.

Needs Dash (the extra ``app``); ``offers``, ``changes`` and ``runs`` do without.
"""
