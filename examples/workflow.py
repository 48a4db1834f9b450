"""A workflow: jobs that wait for other jobs, from a networkx graph, and how close a schedule comes to the longest path."""

import networkx as nx

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.workload.critical_path import critical_path

# An ensemble forecast: one preparation, eight members in two steps each, and a summary of all.
cores, minutes = {"prepare": 4, "summary": 8}, {"prepare": 20, "summary": 10}
graph = nx.DiGraph()
for member in range(8):
    run, post = f"run{member}", f"post{member}"
    cores |= {run: 8, post: 1}
    minutes |= {run: 60 + 5 * member, post: 15}
    nx.add_path(graph, ["prepare", run, post, "summary"])

workload = Workload(
    {
        "job_id": list(cores),
        "submit_time": [0.0] * len(cores),  # submitted all at once, as a workflow engine does
        "requested_cores": list(cores.values()),
        "requested_time": [90 * 60.0] * len(cores),
        "recorded_run_time": [minutes[job] * 60.0 for job in cores],
        "profile": [job.rstrip("0123456789") for job in cores],
    }
).with_dag(graph)

for nodes in (1, 2, 4, 8):
    platform = Platform.homogeneous(nodes=nodes, cores=8)
    path = critical_path(workload, platform)
    result = Simulation(platform, workload, make_scheduler("list:first/first,blocking=no")).run()
    held = (result.jobs["eligible_time"] - result.jobs["submit_time"]).mean()
    queued = (result.jobs["start_time"] - result.jobs["eligible_time"]).mean()
    makespan = result.summary()["makespan_s"]
    print(
        f"{nodes} nodes: {makespan / 60:4.0f} min, longest path {path.makespan_s / 60:.0f} min;"
        f" a job waits {held / 60:.0f} min for others and {queued / 60:.0f} min for cores"
    )
print("longest path:", " > ".join(path.job_ids))
