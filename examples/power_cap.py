"""A power cap of 400 W on four nodes with p-states: jobs wait, or processors run slower."""

from cluster_sim import Platform, ProcessorType, PState, Simulation, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from schedulers import EasyBackfilling, PowerCap

# 54 W while a core is busy and f³/8 W for each of eight cores: 118 W at 4 GHz, 81 W at 3 and 62 W at 2; 16 W idle.
watts = {ghz: {"static_w": 54.0, "dynamic_w": ghz**3 / 8, "min_power": 0.3} for ghz in (4.0, 3.0, 2.0)}
processor = ProcessorType("p", 8, 4.0, power=watts[4.0], p_states=tuple(PState(ghz, watts[ghz]) for ghz in watts))
platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (processor,)), 4),)),))
workload = Workload(
    {
        "submit_time": [10.0 * i for i in range(12)],
        "requested_cores": [8, 16, 8, 4, 32, 8, 16, 4, 8, 8, 24, 8],
        "operations": [2.4e12] * 12,  # of each task: 600 s at 4 GHz
        "requested_time": [3600.0] * 12,
    }
)
for policy in (None, PowerCap(400.0), PowerCap(400.0, how="slow")):
    result = Simulation(platform, workload, EasyBackfilling(), policy).run()
    summary = result.summary()
    print(
        f"{policy.spec if policy else 'no cap':22} at most {result.power['watts'].max():5.1f} W, "
        f"{summary['makespan_s'] / 60:5.1f} min, {summary['energy_j'] / 3.6e6:.3f} kWh, "
        f"{(result.jobs['state'] == 'rejected').sum()} jobs rejected"
    )
