"""A trained agent as a scheduler: the run is the episode, wherever the agent is used, and what is no agent is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import FormatError, InputError, SpecError
from cluster_sim.files import source
from learning.networks.building import make_network
from learning.tasks.built_in_cases import mixed_jobs, small_cluster
from learning.tasks.episodes import Drawn
from learning.training.agent import Agent, LearnedScheduler, find_agents
from learning.training.configuration import EnvironmentKeys
from learning.training.evaluation import cases_of, evaluate
from learning.training.inputs import environment_on
from schedulers import make_power_policy, make_scheduler, power_policies, schedulers
from tests.support.untrained import untrained


def jobs_under(spec: str, workload: Workload, platform: Platform | None = None, seed: int = 0) -> Any:
    """The table of jobs of a run."""
    simulation = Simulation(platform or small_cluster(), workload, make_scheduler(spec), seed=seed)
    return simulation.run().jobs


@pytest.fixture
def workload() -> Workload:
    """Jobs that the agents have not seen."""
    return mixed_jobs(np.random.default_rng(5), 16)


@pytest.mark.parametrize("options", [{}, {"placements": "all"}, {"wait": "event"}], ids=str)
def test_the_run_is_the_episode(tmp_path: Path, workload: Workload, options: dict[str, Any]) -> None:
    """The greedy agent in an ordinary simulation starts every job when and where it does in its environment."""
    agent = untrained(tmp_path, **options)
    environment = environment_on(EnvironmentKeys.model_validate(agent.environment), None)
    episode = environment.episodes.all()[0]
    object.__setattr__(episode, "workload", workload)
    network = make_network(agent.network, environment.observation_space, int(environment.maker.action_space.n))
    network.load_weights(agent.weights)
    observation, _ = environment.reset(options={"episode": episode})
    over = False
    while not over:
        action, _ = network.decide(observation)
        observation, _, over, _, _ = environment.step(action)
    assert jobs_under(f"learned:{tmp_path}", workload).equals(environment.result().jobs)


def test_the_run_of_nodes_is_the_episode(tmp_path: Path) -> None:
    """An agent that switches nodes: as the power policy of a simulation it leaves the states that it left in its episode."""
    keys = EnvironmentKeys(kind="node-shutdown")
    environment = environment_on(keys, None)
    actions = int(environment.maker.action_space.n)
    network = make_network("scorer:hidden=8", environment.observation_space, actions, seed=3)
    facts = {"seed": 0, "score": 1.0, "objective": "reward"}
    Agent(keys.model_dump(mode="json", exclude_none=True), "scorer:hidden=8", network.weights(), facts).save(tmp_path)
    episode = environment.episodes.all()[0]
    observation, _ = environment.reset(options={"episode": episode})
    over = False
    while not over:
        action, _ = network.decide(observation)
        observation, _, terminated, truncated, _ = environment.step(action)
        over = terminated or truncated
    run = Simulation(
        episode.platform,
        episode.workload,
        make_scheduler("saf-easy"),
        make_power_policy(f"learned:{tmp_path}"),
        seed=episode.seed,
        enforce_walltime=episode.enforce_walltime,
        until=episode.until,
    ).run()
    assert run.jobs.equals(environment.result().jobs)
    assert run.node_states.equals(environment.result().node_states)


def test_sampling_follows_the_seed_of_the_run(tmp_path: Path, workload: Workload) -> None:
    """The same seed, the same run; other seeds, other runs; and without sampling the seed does not matter."""
    untrained(tmp_path)
    sampled = [jobs_under(f"learned:{tmp_path},sample=yes", workload, seed=seed) for seed in (1, 1, 2, 3)]
    assert sampled[0].equals(sampled[1])
    assert not all(table.equals(sampled[0]) for table in sampled)
    assert jobs_under(f"learned:{tmp_path}", workload, seed=1).equals(
        jobs_under(f"learned:{tmp_path}", workload, seed=2)
    )


def test_one_object_may_serve_several_runs(tmp_path: Path, workload: Workload) -> None:
    """Nothing is remembered of the run before."""
    untrained(tmp_path)
    scheduler = LearnedScheduler(str(tmp_path))
    runs = [Simulation(small_cluster(), workload, scheduler).run().jobs for _ in range(2)]
    assert runs[0].equals(runs[1])


def test_it_runs_on_machines_of_another_size(tmp_path: Path, workload: Workload) -> None:
    """The default network knows no positions: more nodes, other queues, and a log that it has not been made for."""
    untrained(tmp_path)
    platform = Platform.homogeneous(nodes=7, cores=8)
    assert (jobs_under(f"learned:{tmp_path}", workload, platform)["state"] == "completed").all()


def test_a_network_of_fixed_size_does_not(tmp_path: Path, workload: Workload) -> None:
    """Told in one line."""
    untrained(tmp_path, network="mlp:hidden=4")
    assert (jobs_under(f"learned:{tmp_path}", workload)["state"] == "completed").all()
    told = r"weight '\S+' of network 'mlp:hidden=4': expected shape .* \(it may be bound to how many nodes or jobs it"
    with pytest.raises(InputError, match=told):
        jobs_under(f"learned:{tmp_path}", workload, Platform.homogeneous(nodes=7, cores=8))


def test_of_several_seeds_the_best_decides(tmp_path: Path, workload: Workload) -> None:
    """The least score by validation; the folder of one seed is that seed."""
    for seed, score in ((0, 0.9), (1, 0.7), (2, 0.7), (10, 0.8)):
        untrained(tmp_path / f"seed-{seed}", seed, score=score)
    assert [path.parent.name for path in find_agents(tmp_path)] == ["seed-1", "seed-2", "seed-10", "seed-0"]
    assert Agent.load(tmp_path).facts["seed"] == 1
    assert Agent.load(tmp_path / "seed-0").facts["seed"] == 0
    assert Agent.load(tmp_path / "seed-0" / "best").facts["seed"] == 0


def test_what_is_no_agent_is_refused(tmp_path: Path) -> None:
    """An empty folder, none at all, a broken one, one for nodes where one for jobs is asked, and options that are none."""
    for spec in (f"learned:{tmp_path}", f"learned:{tmp_path / 'gone'}"):
        for make in (make_scheduler, make_power_policy):
            with pytest.raises(
                InputError, match="expected a folder in which cluster-sim train has left an agent"
            ) as error:
                make(spec)
            assert "\n" not in str(error.value)
    untrained(tmp_path)
    with pytest.raises(InputError, match="expected an agent that switches nodes alone, found one of kind job-node"):
        make_power_policy(f"learned:{tmp_path}")
    for spec, told in (("learned", "other arguments"), (f"learned:{tmp_path},sample=often", "yes or no")):
        with pytest.raises(SpecError, match=told):
            make_scheduler(spec)
    (tmp_path / "best" / "agent.json").write_text("{}")
    with pytest.raises(FormatError, match=r"agent\.json: expected a document of format"):
        make_scheduler(f"learned:{tmp_path}")


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("environment", {"colour": "red"}, "environment: expected one of workload"),
        ("environment", {"kind": "job-node", "first": "all"}, "environment.first: expected a valid integer"),
        ("environment", {"kind": "job-node", "options": {"jobs": 3}}, "environment, options: expected one of"),
        ("environment", {"days": False}, "environment.kind: expected text, found a value of type NoneType"),
        ("environment", [], "environment: expected a mapping, found a value of type list"),
        (
            "network",
            "scorer:hidden=-1",
            "network 'scorer:hidden=-1', option hidden: expected a whole number of units, 1 or more",
        ),
        ("network", "unheard-of", "network: expected one of"),
        ("network", 3, "network: expected text, found a value of type int"),
        ("weights", {"actor": "heavy"}, "weights.actor: expected an array of numbers, found a value of type str"),
        ("weights", {"actor": np.array([True])}, "weights.actor: expected an array of numbers, found one of bool"),
        ("weights", {3: np.zeros(2)}, "weights, a name: expected text, found a value of type int"),
        ("weights", {"actor": np.zeros(2)}, "weights: expected those of network 'scorer:hidden=8'"),
        ("facts", {"score": "good"}, "facts.seed: expected a number, found a value of type NoneType"),
        ("facts", {"seed": 0, "objective": "energy_j", "score": "good"}, "facts.score: expected a number"),
    ],
)
def test_agents_of_wrong_parts_are_refused(
    tmp_path: Path, workload: Workload, part: str, value: Any, message: str
) -> None:
    """Unknown keys, wrong values, weights that are none, nesting without end: one line that names the file and the key."""
    agent = untrained(tmp_path)
    setattr(agent, part, value)
    agent.save(tmp_path / "best")
    with pytest.raises(InputError) as caught:
        jobs_under(f"learned:{tmp_path}", workload)
    assert str(caught.value).startswith(f"{tmp_path}/best/agent.json: {message}")


def test_an_agent_without_end_is_refused(tmp_path: Path) -> None:
    """800 lists within each other: more than a tree has levels, and fewer than JSON's reader minds."""
    untrained(tmp_path)
    path = tmp_path / "best" / "agent.json"
    document = json.loads(path.read_text())
    document["tree"]["of"][0][1] = "DEEP"
    path.write_text(json.dumps(document).replace('"DEEP"', "[" * 800 + "]" * 800))
    with pytest.raises(FormatError, match=r"agent\.json: expected a tree as this program saves it"):
        make_scheduler(f"learned:{tmp_path}")


def test_it_is_listed_with_the_others() -> None:
    """Among schedulers and among power policies, with a line of help."""
    for registry in (schedulers, power_policies):
        assert "learned" in registry
        assert "agent" in registry.help("learned")


OWN = """\
import numpy as np
from gymnasium import spaces

from cluster_sim.models.power import power_models
from schedulers import Fcfs, IdleTimeout


class Numbers:
    merges_equal = True

    def space(self, platform, options):
        return {"numbers": spaces.Box(0.0, np.inf, (2,), np.float32)}

    def begin(self, view, finder):
        pass

    def observe(self, view, pairs):
        return {"numbers": np.array([view.pending_count, view.free_total], np.float32)}


class Own(Fcfs):
    pass


class Late(IdleTimeout):
    pass


def linear():
    return power_models.make("linear")
"""
NAMED = {
    "observation": {"observation": "own.py:Numbers"},
    "power": {"options": {"num_jobs": 4, "power": "own.py:Late,seconds=5"}},
    "model": {"power_model": "own.py:linear"},
    "scheduler": {"kind": "node-shutdown", "options": {"scheduler": "own.py:Own"}},
}


@pytest.mark.parametrize("environment", NAMED.values(), ids=NAMED)
def test_files_that_an_agent_names_run_where_the_user_trusts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workload: Workload, environment: dict[str, Any]
) -> None:
    """Else ``evaluate`` refuses them in a line that says how to trust it, and a run that needs its observation does."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    monkeypatch.setattr(source, "_loaded", {})
    keys = EnvironmentKeys(
        **{"platform": "homogeneous:nodes=2,cores=4", "workload": "lublin:jobs=8,nodes=8,seed=1"} | environment
    )
    made = environment_on(keys, Drawn(Platform.homogeneous(nodes=2, cores=4), lambda rng: workload))
    network = "mlp:hidden=8" if keys.observation else "scorer:hidden=8"
    weights = make_network(network, made.observation_space, int(made.action_space.n), 0).weights()
    facts = {"seed": 0, "score": 1.0, "objective": "energy_j"}
    Agent(keys.model_dump(mode="json", exclude_none=True), network, weights, facts).save("agent")
    jobs = "lublin:jobs=8,nodes=8,seed=1"
    heuristic = ["always-on" if keys.kind == "node-shutdown" else "fcfs"]

    def played(directory: str) -> set[str]:
        cases = cases_of(directory, jobs)
        return set(evaluate(directory, cases, ("energy_j",), heuristic, runs=1, workers=1).runs["mode"])

    source._loaded.clear()  # as in another process
    with pytest.raises(InputError, match=r"own\.py: expected a file that you name yourself, or learned:DIR,trust=yes"):
        played("agent")
    source._loaded.clear()
    assert played("learned:agent,trust=yes") == {"greedy", "sampled"}
