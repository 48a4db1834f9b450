// Goes through the decisions of a run, one frame each: the clock, what was decided and why, the nodes and the queue.
// What stands in "run" is described in analysis/frames.py. Texts in it come from input files: they are put into the
// page as text, never as markup.
"use strict";
const run = JSON.parse(document.getElementById("run").textContent);
const { jobs, nodes } = run;
const WIDTH = 780;
const MOST_ROWS = 100;     // of a table; the rest is counted
const MOST_PIECES = 4000;  // of the chart of the schedule so far
const KINDS = { start: "start", reserve: "promise", hold: "wait", reject: "refusal", end: "end" };
const STATES = { OFF: "off", SWITCHING_ON: "booting", SWITCHING_OFF: "shutting down", FAILED: "failed" };
const at = id => document.getElementById(id);
const everyJob = jobs.id.map((_, job) => job);
const everyNode = nodes.name.map((_, node) => node);

// ---------------------------------------------------------------- words

const number = value => value.toLocaleString("en-US", { maximumFractionDigits: 3 });
const seconds = time => time === null ? "–" : `${number(time)} s`;
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const listed = (texts, most) =>
  texts.slice(0, most).join(", ") + (texts.length > most ? ` and ${number(texts.length - most)} more` : "");
const named = some => `job${some.length === 1 ? "" : "s"} ${listed(some.map(job => jobs.id[job]), 8)}`;

function days(time) {
  if (time < 3600) return "";
  const two = value => String(Math.floor(value)).padStart(2, "0");
  const clock = `${two(time % 86400 / 3600)}:${two(time % 3600 / 60)}:${two(time % 60)}`;
  return time < 86400 ? ` (${clock})` : ` (${Math.floor(time / 86400)} d ${clock})`;
}

// ---------------------------------------------------------------- what is so at a frame

const queued = frame => everyJob.filter(job => jobs.enters[job] <= frame && frame <= jobs.leaves[job]);
const held = frame => everyJob.filter(job => jobs.takes[job] < frame && frame < jobs.gives[job]);

const places = everyJob.map(() => []);
run.places.forEach(([job, first, last]) => places[job].push(...byNode(first, last)));
const saidOf = everyJob.map(() => []);
run.said.forEach(([frame, job, text, promise]) => saidOf[job].push([frame, text, promise]));

// A run of neighbouring cores, cut at the nodes: [node, first core, how many] each.
function byNode(first, last) {
  let low = 0, high = nodes.name.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (nodes.first[middle] <= first) low = middle; else high = middle;
  }
  const found = [];
  for (let node = low; first <= last; node++) {
    const end = Math.min(last + 1, nodes.first[node + 1]);
    found.push([node, first, end - first]);
    first = end;
  }
  return found;
}

function states(frame) {
  const found = new Map();
  run.states.forEach(([node, state, from, to]) => { if (from <= frame && frame < to) found.set(node, state); });
  return found;
}

function reason(frame, job, deciding) {
  if (deciding && ["start", "reject"].includes(run.kind[frame - run.first])) return "this decision";
  const said = saidOf[job].filter(([since]) => since <= frame);
  const last = [said.filter(each => !each[2]).pop(), said.filter(each => each[2]).pop()].filter(Boolean);
  if (last.length) return last.map(each => each[1]).join("; ");
  if (run.time[frame - run.first] === jobs.since[job]) return "just came";
  return run.tells ? "behind the head of the queue" : "–";
}

// ---------------------------------------------------------------- pieces of the page

function make(tag, attributes, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "title", "line", "clipPath", "defs", "pattern"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...children);
  return element;
}

// Ids are cut where they are too long, not broken.
function looks(head, cell) {
  if (head.name === "job") return { class: "job", title: cell };
  return head.text ? { class: "text" } : {};
}

function table(heads, rows, marked) {
  const shown = rows.filter((row, place) => place < MOST_ROWS || marked(row));
  const body = shown.map(row => make("tr", marked(row) ? { class: "now" } : {}, ...row.cells.map(
    (cell, place) => make("td", looks(heads[place], cell), cell))));
  const head = make("tr", {}, ...heads.map(each => make("th", each.text ? { class: "text" } : {}, each.name)));
  const left = rows.length - shown.length;
  return [make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
          ...left ? [make("p", { class: "soft" }, `and ${number(left)} more`)] : []];
}

const word = name => ({ name, text: true });
const figure = name => ({ name, text: false });

function queueTable(frame) {
  const now = run.time[frame - run.first], deciding = run.job[frame - run.first], waiting = queued(frame);
  const cores = waiting.reduce((sum, job) => sum + jobs.cores[job], 0);
  const when = run.kind[frame - run.first] === "end" ? "at the end" : "before it";
  const heading = make("h2", {}, `Queue ${when}: ${counted(waiting.length, "job")}, ${counted(cores, "core")}`);
  if (!waiting.length) return [heading];
  const rows = waiting.map((job, place) => ({ job, cells: [
    number(place + 1), jobs.id[job], seconds(now - jobs.since[job]), number(jobs.cores[job]), seconds(jobs.asks[job]),
    reason(frame, job, job === deciding),
  ] }));
  const heads = [figure(""), word("job"), figure("waits"), figure("cores"), figure("asks for"), word("because")];
  return [heading, ...table(heads, rows, row => row.job === deciding)];
}

function runningTable(frame) {
  const now = run.time[frame - run.first], running = held(frame);
  const heading = make("h2", {}, `Running: ${counted(running.length, "job")}`);
  if (!running.length) return [heading];
  const rows = running.map(job => {
    const begun = jobs.begins[job] !== null && jobs.begins[job] <= now;
    const ends = begun && jobs.asks[job] !== null ? jobs.begins[job] + jobs.asks[job] : null;
    return { job, cells: [
      jobs.id[job], begun ? seconds(now - jobs.begins[job]) : "nodes boot", seconds(ends),
      listed(coresOf(job), 4),
    ] };
  });
  return [heading, ...table([word("job"), figure("runs for"), figure("asked to end at"), word("cores")], rows,
                            () => false)];
}

function coresOf(job) {
  const found = new Map();
  places[job].forEach(([node, , count]) => found.set(node, (found.get(node) || 0) + count));
  return Array.from(found, ([node, count]) => `${short[node]}: ${number(count)}`);
}

function news(frame) {
  const came = everyJob.filter(job => jobs.enters[job] === frame);
  const gone = everyJob.filter(job => jobs.gives[job] === frame && jobs.takes[job] < frame);
  const killed = gone.filter(job => jobs.state[job] === "killed");
  const done = gone.filter(job => jobs.state[job] !== "killed");
  const told = [];
  if (came.length) told.push(`${named(came)} came`);
  if (done.length) told.push(`${named(done)} ended`);
  if (killed.length) told.push(`${named(killed)} ${killed.length === 1 ? "was" : "were"} killed`);
  return told.length ? `Since the step before: ${told.join("; ")}.` : "";
}

function decision(frame) {
  const place = frame - run.first, kind = run.kind[place];
  const which = kind === "end" ? "after the last decision" : `decision ${number(frame + 1)} of ${number(run.total)}`;
  return [
    make("p", {}, make("span", { class: `kind ${kind}` }, KINDS[kind]), ` ${which}`),
    make("p", { class: "words" }, run.words[place]),
    make("p", {}, run.reason[place]),
    make("p", { class: "soft" }, news(frame)),
  ];
}

// ---------------------------------------------------------------- nodes

const prefix = nodes.name.length > 1 ? common(nodes.name) : "";
const short = nodes.name.map(name => name.slice(prefix.length));
const plan = planned();

// What all names begin with, up to their last point.
function common(names) {
  const first = names[0].slice(0, names[0].lastIndexOf(".") + 1);
  return names.every(name => name.startsWith(first)) ? first : "";
}

// The largest cells with which all nodes are in sight: nodes as strips of cores, in columns.
function planned() {
  const count = nodes.name.length, longest = short.reduce((most, name) => Math.max(most, name.length), 1);
  const widest = everyNode.reduce((most, node) => Math.max(most, nodes.first[node + 1] - nodes.first[node]), 1);
  const labelled = count <= 40 || count <= 200 && widest > 1;
  const label = labelled ? Math.min(140, 7.4 * longest + 10) : 0, gap = labelled ? 12 : 2;
  const narrowest = Math.max(0.01, (WIDTH - label - gap) / widest);
  let found = null;
  for (const size of [60, 44, 34, 26, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1.5, 1, 0.5, 0.25, narrowest]) {
    const fitting = Math.floor((WIDTH + gap) / (label + widest * size + gap));
    if (fitting < 1) continue;
    const columns = labelled && count <= 6 ? 1 : Math.min(count, fitting);
    const tall = labelled ? Math.min(30, Math.max(13, size)) : Math.min(16, Math.max(3, size));
    const step = tall + (labelled && count <= 40 ? 5 : 2), rows = Math.ceil(count / columns);
    found = { label, size, rows, tall, step, wide: label + widest * size + gap, height: rows * step };
    if (found.height <= 420) break;
  }
  return found || { label, size: narrowest, rows: 1, tall: 16, step: 21, wide: WIDTH, height: 21 };
}

function box(node, first, count) {
  const x = Math.floor(node / plan.rows) * plan.wide + plan.label + (first - nodes.first[node]) * plan.size;
  return { x, y: node % plan.rows * plan.step, width: count * plan.size, height: plan.tall };
}

const whole = node => box(node, nodes.first[node], nodes.first[node + 1] - nodes.first[node]);
const outline = each => `M${each.x},${each.y}h${each.width}v${each.height}h${-each.width}z`;

function hatching() {
  const stripes = (id, back, path) => make("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
    make("rect", { width: 8, height: 8, fill: back }), make("path", { d: path, stroke: "#fff", "stroke-width": 1.6 }));
  return make("defs", {},
    stripes("OFF", "#4a4a4a", ""), stripes("SWITCHING_ON", "#009e73", "M-2,2l4,-4M0,8l8,-8M6,10l4,-4"),
    stripes("SWITCHING_OFF", "#8a8a8a", "M-2,6l4,4M0,0l8,8M6,-2l4,4"), stripes("FAILED", "#b3261e", "M0,0l8,8M0,8l8,-8"));
}

function written(text, each, ink) {
  if (each.height < 12 || 7.2 * text.length + 4 > each.width) return [];
  return [make("text", { x: each.x + each.width / 2, y: each.y + each.height / 2 + 4, "text-anchor": "middle", fill: ink },
               text)];
}

const still = make("g", {}), moving = make("g", {});
const edge = plan.size < 4 ? 0.4 : 1;  // lines as wide as a core would hide it

function drawMachine() {
  const cells = everyNode.flatMap(node => {
    if (plan.size < 6) return [];
    const each = whole(node), count = nodes.first[node + 1] - nodes.first[node];
    return Array.from({ length: count - 1 }, (_, core) => `M${each.x + (core + 1) * plan.size},${each.y}v${each.height}`);
  });
  still.append(
    make("path", { d: everyNode.map(node => outline(whole(node))).join(""), fill: "#fff", stroke: "#5a6772",
                   "stroke-width": edge }),
    make("path", { d: cells.join(""), stroke: "#d5dbe0" }));
  if (plan.label) {
    everyNode.forEach(node => {
      const each = whole(node), name = short[node].length > 18 ? `${short[node].slice(0, 17)}…` : short[node];
      still.append(make("text", { x: each.x - 6, y: each.y + each.height / 2 + 4, "text-anchor": "end" },
                        make("title", {}, nodes.name[node]), name));
    });
  }
  at("nodes").append(make("svg", { viewBox: `-1 -1 ${WIDTH + 2} ${plan.height + 2}`, role: "img", id: "machine",
                                 class: nodes.name.length > 40 ? "many" : "few" },
                          hatching(), still, moving));
}

function drawNodes(frame) {
  const place = frame - run.first, away = states(frame), busy = new Array(nodes.name.length).fill(0);
  const drawn = [], texts = [];
  held(frame).forEach(job => places[job].forEach(([node, first, count]) => {
    busy[node] += count;
    const each = box(node, first, count), colour = jobs.colour[job];
    const look = { ...each, fill: run.colours[colour], stroke: "#22303c", "stroke-width": edge };
    const text = `job ${jobs.id[job]}: ${counted(count, "core")} of ${nodes.name[node]}`;
    drawn.push(make("rect", look, make("title", {}, text)));
    texts.push(...written(jobs.id[job], each, run.inks[colour]));
  }));
  away.forEach((state, node) => {
    const each = whole(node), look = { ...each, fill: `url(#${state})`, "fill-opacity": busy[node] ? 0.5 : 1 };
    drawn.push(make("rect", look, make("title", {}, `${nodes.name[node]} is ${STATES[state]}`)));
    const [name] = busy[node] ? [] : written(STATES[state], each, "#fff");
    if (name) {
      name.setAttribute("class", "on-dark");
      texts.push(name);
    }
  });
  if (run.kind[place] === "start") {
    const job = run.job[place];
    places[job].forEach(([node, first, count]) => {
      const each = box(node, first, count);
      drawn.push(make("rect", { ...each, class: "target" }), ...written(jobs.id[job], each, "#000"));
    });
  }
  moving.replaceChildren(...drawn, ...texts);
  const words = `Nodes ${run.kind[place] === "end" ? "at the end" : "before it"}: ${nodesInWords(away, busy)}`;
  at("nodes-heading").textContent = words;
  at("machine").setAttribute("aria-label", words);
}

function nodesInWords(away, busy) {
  const cores = nodes.first[nodes.first.length - 1], count = {};
  let free = 0;
  everyNode.forEach(node => { if (!away.has(node)) free += nodes.first[node + 1] - nodes.first[node] - busy[node]; });
  away.forEach(state => { count[state] = (count[state] || 0) + 1; });
  const others = Object.keys(STATES).filter(state => count[state]);
  return [`${counted(free, "core")} free of ${number(cores)}`,
          ...others.map(state => `${counted(count[state], "node")} ${STATES[state]}`)].join(", ");
}

// ---------------------------------------------------------------- the schedule so far

const span = [run.time[0], Math.max(run.until, run.time[run.time.length - 1])];
if (span[0] === span[1]) span[1] += 1;
const across = time => (time - span[0]) / (span[1] - span[0]) * WIDTH;
const past = make("rect", { x: 0, y: -1, width: 0, height: 1 }), hand = make("line", { class: "hand" });

function drawSchedule() {
  const cores = nodes.first[nodes.first.length - 1], height = Math.min(260, Math.max(60, 14 * cores));
  const scale = height / cores, pieces = [], pieceCount = run.places.length;
  if (pieceCount > MOST_PIECES) {
    at("schedule").append(make("p", { class: "soft" },
      `It has ${number(pieceCount)} pieces, too many to draw here: cluster-sim gantt draws them.`));
    return;
  }
  run.places.forEach(([job, first, last]) => {
    if (jobs.begins[job] === null) return;
    const from = Math.max(across(jobs.begins[job]), 0);
    const to = jobs.ends[job] === null ? WIDTH : Math.min(across(jobs.ends[job]), WIDTH);
    if (to <= from) return;
    const each = { x: from, y: first * scale, width: to - from, height: (last - first + 1) * scale };
    const colour = jobs.colour[job];
    pieces.push(make("rect", { ...each, fill: run.colours[colour], stroke: "#22303c",
                               "stroke-width": each.height < 4 ? 0 : 0.6 },
                     make("title", {}, `job ${jobs.id[job]}`)), ...written(jobs.id[job], each, run.inks[colour]));
  });
  const edges = nodes.name.length <= 64 ? nodes.first.map(core => `M0,${core * scale}h${WIDTH}`).join("") : "";
  past.setAttribute("height", height + 2);
  Object.entries({ y1: -2, y2: height + 4 }).forEach(([name, value]) => hand.setAttribute(name, value));
  at("schedule").append(make("svg", { viewBox: `-1 -3 ${WIDTH + 2} ${height + 25}`, "aria-hidden": "true" },
    make("defs", {}, make("clipPath", { id: "past" }, past)),
    make("rect", { width: WIDTH, height, fill: "#f4f7f9" }),
    make("g", { "clip-path": "url(#past)" }, ...pieces),
    make("path", { d: edges, stroke: "#9aa5b1", "stroke-width": 0.7 }), ...ticks(height), hand));
}

function ticks(height) {
  const rough = (span[1] - span[0]) / 6, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(each => each * power).find(each => each >= rough);
  const found = [];
  for (let time = Math.ceil(span[0] / step) * step; time <= span[1] * (1 + 1e-12); time += step) {
    const x = across(time), edge = x < 30 ? "start" : x > WIDTH - 40 ? "end" : "middle";
    found.push(make("path", { d: `M${x},${height}v4`, stroke: "#5a6772" }),
               make("text", { x, y: height + 17, "text-anchor": edge }, seconds(time)));
  }
  return found;
}

function moveHand(frame) {
  const x = across(run.time[frame - run.first]);
  past.setAttribute("width", Math.max(0, x));
  hand.setAttribute("x1", x);
  hand.setAttribute("x2", x);
}

// ---------------------------------------------------------------- going through

let frame = run.first;
let playing = null;

function show(wanted) {
  frame = wanted;
  const now = run.time[frame - run.first];
  at("clock").textContent = `${seconds(now)}${days(now)}`;
  at("decision").replaceChildren(...decision(frame));
  at("queue").replaceChildren(...queueTable(frame));
  at("running").replaceChildren(...runningTable(frame));
  drawNodes(frame);
  moveHand(frame);
  at("slider").value = at("number").value = frame + 1;
  at("slider").setAttribute("aria-valuetext", `step ${frame + 1}, ${seconds(now)}`);
  mark("first", frame === run.begin);
  mark("back", frame === run.begin);
  mark("forward", frame === run.stop - 1);
  mark("last", frame === run.stop - 1);
  try { history.replaceState(null, "", `#${frame + 1}`); } catch { /* a page within a page may have no address */ }
}

const mark = (id, off) => at(id).setAttribute("aria-disabled", off);

// To a step of this page, or to the page that has it.
function go(wanted) {
  if (!Number.isFinite(wanted)) return;
  wanted = Math.min(Math.max(Math.round(wanted), run.begin), run.stop - 1);
  if (wanted >= run.first && wanted < run.first + run.time.length) {
    show(wanted);
    return;
  }
  const [address] = run.pages.filter(([, first]) => first <= wanted).pop();
  location.href = `${address}#${wanted + 1}`;
}

function play(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => {
    if (frame + 1 >= run.first + run.time.length) play(false); else show(frame + 1);
  }, 1000 / Number(at("speed").value)) : null;
  at("play").textContent = on ? "❚❚ Pause" : "▶ Play";
}

const ACTIONS = {
  first: () => go(run.begin),
  back: () => go(frame - 1),
  forward: () => go(frame + 1),
  last: () => go(run.stop - 1),
};
const KEYS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };

function listen() {
  Object.entries(ACTIONS).forEach(([id, action]) => at(id).addEventListener("click", () => { play(false); action(); }));
  at("play").addEventListener("click", () => play(playing === null));
  at("speed").addEventListener("change", () => { if (playing !== null) play(true); });
  at("slider").addEventListener("input", () => { play(false); go(at("slider").valueAsNumber - 1); });
  at("number").addEventListener("change", () => { play(false); go(at("number").valueAsNumber - 1); });
  window.addEventListener("hashchange", () => go(Number(location.hash.slice(1)) - 1));
  document.addEventListener("keydown", event => {
    // Fields and the slider have meanings of their own for these keys.
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    if (event.key === " " && !event.target.closest("button, a")) {
      event.preventDefault();
      play(playing === null);
    } else if (event.key in KEYS) {
      event.preventDefault();
      play(false);
      ACTIONS[KEYS[event.key]]();
    }
  });
}

function begin() {
  drawMachine();
  drawSchedule();
  listen();
  const wanted = Number(location.hash.slice(1)) - 1;
  show(run.first);
  if (Number.isInteger(wanted) && wanted >= 0) go(wanted);
}

begin();
