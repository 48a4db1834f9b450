// Shows the frames of a run one by one, in the stepping page and in explore: the clock, what was decided and why, the
// nodes, the queue. What a run's data are is described in analysis/stepping/frames.py. Texts in them come from input files: they
// are put into the page as text, never as markup.
const stepper = (() => {
"use strict";
const MOST_ROWS = 100;     // of a table; the rest is counted
const MOST_PIECES = 4000;  // of the chart of the schedule so far
const KINDS = { start: "start", reserve: "promise", hold: "wait", block: "wait", reject: "refusal", end: "end",
                preempt: "cores taken", resume: "resumption", resize: "change" };
const STATES = { OFF: "off", SWITCHING_ON: "booting", SWITCHING_OFF: "shutting down", FAILED: "failed" };
const PARTS = `
  <div class="bar" role="group" aria-label="steps">
    <button id="first" title="first step (Home)">|◀ First</button>
    <button id="back" title="one step back (left arrow key)">◀ Back</button>
    <button id="forward" title="one step forward (right arrow key)">Forward ▶</button>
    <button id="last" title="last step (End)">Last ▶|</button>
    <input id="slider" type="range" step="1" aria-label="step">
    <label>Step <input id="number" type="number" min="1" step="1"></label>
    <button id="play" title="go on by itself (space)">▶ Play</button>
    <label>Speed <select id="speed"><option value="0.5">a step in 2 s</option><option value="1" selected>1 step/s</option>
      <option value="3">3 steps/s</option><option value="10">10 steps/s</option></select></label>
  </div>
  <div class="panes">
    <div>
      <p class="clock"><span class="soft">Clock</span> <b id="clock"></b></p>
      <section id="decision" aria-live="polite"></section>
      <h2 id="nodes-heading"></h2>
      <div id="nodes"></div>
      <p id="legend"></p>
      <div id="schedule"></div>
    </div>
    <div>
      <section id="queue"></section>
      <section id="suspended"></section>
      <section id="running"></section>
    </div>
  </div>`;
const at = id => document.getElementById(id);

// What is shown, since load().
let hooks, run, jobs, nodes, stays, suspended, holds, everyNode, short, plan, width, still, moving, past, hand;

// ---------------------------------------------------------------- words

const number = value => value.toLocaleString("en-US", { maximumFractionDigits: 3 });
// Times of the run, below an hour in seconds, and lengths of time.
const seconds = time => time === null ? "–" : time < 3600 ? `${number(time)} s` : clock(time);
const long = time => time === null ? "–" : lasting(time);
const two = value => String(Math.floor(value)).padStart(2, "0");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const listed = (texts, most) =>
  texts.slice(0, most).join(", ") + (texts.length > most ? ` and ${number(texts.length - most)} more` : "");
const named = names => `job${names.length === 1 ? "" : "s"} ${listed(names, 8)}`;
const isGuest = hold => hold.colour < 0;
const called = hold => isGuest(hold) ? `guest: ${hold.job_id}` : hold.job_id + (hold.attempt ? `, attempt ${hold.attempt}` : "");

// 1 d 06:00:00
function clock(time) {
  const ofDay = `${two(time % 86400 / 3600)}:${two(time % 3600 / 60)}:${two(time % 60)}`;
  return time < 86400 ? ofDay : `${number(Math.floor(time / 86400))} d ${ofDay}`;
}

// ---------------------------------------------------------------- what is so at a frame

const queued = frame => stays.filter(stay => stay.enters <= frame && frame <= stay.leaves);
const held = frame => holds.filter(hold => hold.takes < frame && frame < hold.gives);

// Columns of equal length as rows.
const rows = columns => Array.from(Object.values(columns)[0], (_, row) =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[row]])));

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

function reason(frame, stay) {
  const place = frame - run.first;
  if (stay.job === run.job[place] && ["start", "reject", "hold"].includes(run.kind[place])) return "this decision";
  return stay.because.filter(([since]) => since <= frame).pop()[1];
}

// ---------------------------------------------------------------- pieces of the page

function make(tag, attributes, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "title", "line", "clipPath", "defs", "pattern"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...children);
  return element;
}

// A job's id, to be clicked where that tells something. Ids are cut where they are too long, not broken.
function jobName(id, text = id) {
  if (!hooks.told) return text;
  const link = make("button", { class: "link", title: `why job ${id} waited` }, text);
  link.addEventListener("click", () => hooks.told(id));
  return link;
}

function table(heads, rows) {
  const shown = rows.filter((row, place) => place < MOST_ROWS || row.now);
  const body = shown.map(row => make("tr", row.now ? { class: "now" } : {}, ...row.cells.map((cell, place) =>
    make("td", heads[place].name === "job" ? { class: "job", title: row.name } : heads[place].text ? { class: "text" } : {},
         cell))));
  const head = make("tr", {}, ...heads.map(each => make("th", each.text ? { class: "text" } : {}, each.name)));
  const left = rows.length - shown.length;
  return [make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
          ...left ? [make("p", { class: "soft" }, `and ${number(left)} more`)] : []];
}

const word = name => ({ name, text: true });
const figure = name => ({ name, text: false });

function queueTable(frame) {
  const now = run.time[frame - run.first], deciding = run.job[frame - run.first], waiting = queued(frame);
  const cores = waiting.reduce((sum, stay) => sum + jobs.requested_cores[stay.job], 0);
  const when = run.kind[frame - run.first] === "end" ? "at the end" : "before it";
  const heading = make("h2", {}, `Queue ${when}: ${counted(waiting.length, "job")}, ${counted(cores, "core")}`);
  if (!waiting.length) return [heading];
  const heads = [figure(""), word("job"), figure("waits"), figure("cores"), figure("asks for"), word("because")];
  return [heading, ...table(heads, waiting.map((stay, place) => {
    const id = jobs.job_id[stay.job], name = stay.again ? `${id}, again` : id;
    return { name, now: stay.job === deciding, cells: [
      number(place + 1), jobName(id, name), long(now - stay.since), number(jobs.requested_cores[stay.job]),
      long(jobs.requested_time[stay.job]), reason(frame, stay),
    ] };
  }))];
}

// Jobs that have lost their cores and are to go on, if there are any.
function suspendedTable(frame) {
  const now = run.time[frame - run.first];
  const gone = suspended.filter(each => each.enters <= frame && frame <= each.leaves);
  if (!gone.length) return [];
  const heads = [word("job"), figure("suspended for"), figure("cores")];
  return [make("h2", {}, `Suspended: ${counted(gone.length, "job")}`), ...table(heads, gone.map(each => ({
    name: each.job_id, cells: [jobName(each.job_id), long(now - each.since), number(each.cores)],
  })))];
}

function runningTable(frame) {
  const now = run.time[frame - run.first], running = held(frame), guests = running.filter(isGuest).length;
  const counts = [counted(running.length - guests, "job"), ...guests ? [counted(guests, "guest")] : []];
  const heading = make("h2", {}, `Running: ${counts.join(", ")}`);
  if (!running.length) return [heading];
  const heads = [word("job"), figure("runs for"), figure("asked to end at"), word("cores")];
  return [heading, ...table(heads, running.map(hold => {
    const begun = hold.start_time !== null && hold.start_time <= now, asks = isGuest(hold) ? null : jobs.requested_time[hold.job];
    const ends = begun && asks !== null ? hold.start_time + asks : null;
    return { name: called(hold), cells: [
      isGuest(hold) ? called(hold) : jobName(hold.job_id, called(hold)),
      begun ? long(now - hold.start_time) : "nodes boot", seconds(ends), listed(coresOf(hold), 4),
    ] };
  }))];
}

function coresOf(hold) {
  const found = new Map();
  hold.byNode.forEach(([node, , count]) => found.set(node, (found.get(node) || 0) + count));
  return Array.from(found, ([node, count]) => `${short[node]}: ${number(count)}`);
}

const ENDS = { completed: "ended", requeued: "stopped", preempted: "stopped", suspended: "suspended",
               resized: "resized", moved: "moved" };

function news(frame) {
  const came = again => stays.filter(stay => stay.enters === frame && stay.again === again).map(stay => jobs.job_id[stay.job]);
  const gone = holds.filter(hold => hold.gives === frame), guests = holds.filter(isGuest);
  const ended = how => gone.filter(hold => !isGuest(hold) && (ENDS[hold.outcome] || "killed") === how).map(hold => hold.job_id);
  const told = [[came(false), "came"], [ended("ended"), "ended"], [ended("killed"), "was killed", "were killed"],
                [ended("stopped"), "was stopped", "were stopped"],
                [ended("suspended"), "was suspended", "were suspended"],
                [ended("resized"), "changed its cores", "changed their cores"], [came(true), "waits again", "wait again"]]
    .filter(([names]) => names.length)
    .map(([names, one, several = one]) => `${named(names)} ${names.length === 1 ? one : several}`);
  guests.forEach(guest => {
    if (guest.takes + 1 < guest.gives && [guest.takes + 1, guest.gives].includes(frame))
      told.push(`${called(guest)} ${guest.gives === frame ? "left" : "came"}`);
  });
  return told.length ? `Since the step before: ${told.join("; ")}.` : "";
}

function decision(frame) {
  const place = frame - run.first, kind = run.kind[place];
  const which = kind === "end" ? "after the last decision" : `decision ${number(frame + 1)} of ${number(run.total)}`;
  const why = hooks.told && kind !== "end" ? [" ", jobName(jobs.job_id[run.job[place]], "why?")] : [];
  return [
    make("p", {}, make("span", { class: `kind ${kind}` }, KINDS[kind]), ` ${which}`),
    make("p", { class: "words" }, run.words[place], ...why),
    make("p", {}, run.reason[place]),
    make("p", { class: "soft" }, news(frame)),
  ];
}

// ---------------------------------------------------------------- nodes

// What all names begin with, up to their last point.
function common(names) {
  if (names.length === 1) return "";
  const first = names[0].slice(0, names[0].lastIndexOf(".") + 1);
  return names.every(name => name.startsWith(first)) ? first : "";
}

// The largest cells with which all nodes are in sight: nodes as strips of cores, in columns.
function planned() {
  const count = nodes.name.length, longest = short.reduce((most, name) => Math.max(most, name.length), 1);
  const widest = everyNode.reduce((most, node) => Math.max(most, nodes.first[node + 1] - nodes.first[node]), 1);
  const labelled = count <= 40 || count <= 200 && widest > 1;
  const label = labelled ? Math.min(140, 7.4 * longest + 10) : 0, gap = labelled ? 12 : 2;
  const narrowest = Math.max(0.01, (width - label - gap) / widest);
  let found = null;
  for (const size of [120, 90, 60, 44, 34, 26, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1.5, 1, 0.5, 0.25, narrowest]) {
    const fitting = Math.floor((width + gap) / (label + widest * size + gap));
    if (fitting < 1) continue;
    const columns = labelled && count <= 6 ? 1 : Math.min(count, fitting);
    const tall = labelled ? Math.min(30, Math.max(13, size)) : Math.min(16, Math.max(3, size));
    const step = tall + (labelled && count <= 40 ? 5 : 2), rows = Math.ceil(count / columns);
    found = { label, size, rows, tall, step, wide: label + widest * size + gap, height: rows * step };
    if (found.height <= 420) break;
  }
  return found || { label, size: narrowest, rows: 1, tall: 16, step: 21, wide: width, height: 21 };
}

function box(node, first, count) {
  const x = Math.floor(node / plan.rows) * plan.wide + plan.label + (first - nodes.first[node]) * plan.size;
  return { x, y: node % plan.rows * plan.step, width: count * plan.size, height: plan.tall };
}

const whole = node => box(node, nodes.first[node], nodes.first[node + 1] - nodes.first[node]);
const outline = each => `M${each.x},${each.y}h${each.width}v${each.height}h${-each.width}z`;

function hatching() {
  const stripes = (id, back, path, ink = "#fff") => make("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
    make("rect", { width: 8, height: 8, fill: back }), make("path", { d: path, stroke: ink, "stroke-width": 1.6 }));
  return make("defs", {},
    stripes("OFF", "#4a4a4a", ""), stripes("SWITCHING_ON", "#009e73", "M-2,2l4,-4M0,8l8,-8M6,10l4,-4"),
    stripes("SWITCHING_OFF", "#8a8a8a", "M-2,6l4,4M0,0l8,8M6,-2l4,4"), stripes("FAILED", "#b3261e", "M0,0l8,8M0,8l8,-8"),
    stripes("guest", "#efefef", "M0,2h8M0,6h8", "#8a8a8a"));
}

// The look of a hold's rectangles, and its name on them, where it fits.
const filled = hold => isGuest(hold) ? "url(#guest)" : run.colours[hold.colour];
const label = (hold, each) => isGuest(hold)
  ? written(called(hold), each, { class: "on-light" }) : written(hold.job_id, each, { fill: run.inks[hold.colour] });

function written(text, each, look) {
  if (each.height < 12 || 7.2 * text.length + 4 > each.width) return [];
  return [make("text", { x: each.x + each.width / 2, y: each.y + each.height / 2 + 4, "text-anchor": "middle", ...look },
               text)];
}

const edge = () => plan.size < 4 ? 0.4 : 1;  // lines as wide as a core would hide it

function drawMachine() {
  plan = planned();
  still = make("g", {});
  moving = make("g", {});
  const cells = everyNode.flatMap(node => {
    if (plan.size < 6) return [];
    const each = whole(node), count = nodes.first[node + 1] - nodes.first[node];
    return Array.from({ length: count - 1 }, (_, core) => `M${each.x + (core + 1) * plan.size},${each.y}v${each.height}`);
  });
  still.replaceChildren(
    make("path", { d: everyNode.map(node => outline(whole(node))).join(""), class: "node", "stroke-width": edge() }),
    make("path", { d: cells.join(""), class: "cells" }));
  if (plan.label) {
    everyNode.forEach(node => {
      const each = whole(node), name = short[node].length > 18 ? `${short[node].slice(0, 17)}…` : short[node];
      still.append(make("text", { x: each.x - 6, y: each.y + each.height / 2 + 4, "text-anchor": "end" },
                        make("title", {}, nodes.name[node]), name));
    });
  }
  at("nodes").replaceChildren(make("svg", { viewBox: `-1 -1 ${width + 2} ${plan.height + 2}`, role: "img", id: "machine",
                                          class: nodes.name.length > 40 ? "many" : "few" },
                                   hatching(), still, moving));
}

function drawNodes(frame) {
  const place = frame - run.first, away = states(frame), busy = new Array(nodes.name.length).fill(0);
  const drawn = [], texts = [];
  held(frame).forEach(hold => hold.byNode.forEach(([node, first, count]) => {
    busy[node] += count;
    const each = box(node, first, count), look = { ...each, fill: filled(hold), class: "held", "stroke-width": edge() };
    const text = `${isGuest(hold) ? "" : "job "}${called(hold)}: ${counted(count, "core")} of ${nodes.name[node]}`;
    drawn.push(make("rect", look, make("title", {}, text)));
    texts.push(...label(hold, each));
  }));
  away.forEach((state, node) => {
    const each = whole(node), look = { ...each, fill: `url(#${state})`, "fill-opacity": busy[node] ? 0.5 : 1 };
    drawn.push(make("rect", look, make("title", {}, `${nodes.name[node]} is ${STATES[state]}`)));
    const [name] = busy[node] ? [] : written(STATES[state], each, { class: "on-dark" });
    if (name) texts.push(name);
  });
  if (run.kind[place] === "start") {
    const [starts] = holds.filter(hold => hold.takes === frame && !isGuest(hold));
    (starts ? starts.byNode : []).forEach(([node, first, count]) => {
      const each = box(node, first, count);
      drawn.push(make("rect", { ...each, class: "target" }), ...written(starts.job_id, each, {}));
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

const span = () => run.since < run.until ? [run.since, run.until] : [run.since, run.since + 1];
const across = time => (time - span()[0]) / (span()[1] - span()[0]) * width;

function drawSchedule() {
  const cores = nodes.first[nodes.first.length - 1], height = Math.min(260, Math.max(60, 14 * cores));
  const scale = height / cores, pieces = [], pieceCount = holds.reduce((sum, hold) => sum + hold.places.length, 0);
  past = make("rect", { x: 0, y: -1, width: 0, height: height + 2 });
  hand = make("line", { class: "hand", y1: -2, y2: height + 4 });
  const heading = make("h2", {}, `The schedule ${run.cut ? `from ${seconds(run.since)} on` : "so far"}, one row per core`);
  if (pieceCount > MOST_PIECES) {
    at("schedule").replaceChildren(heading, make("p", { class: "soft" },
      `It has ${number(pieceCount)} pieces, too many to draw here: cluster-sim gantt draws them.`));
    return;
  }
  holds.forEach(hold => hold.places.forEach(([first, last]) => {
    if (hold.start_time === null) return;
    const from = Math.max(across(hold.start_time), 0), to = hold.end_time === null ? width : Math.min(across(hold.end_time), width);
    if (to <= from) return;
    const each = { x: from, y: first * scale, width: to - from, height: (last - first + 1) * scale };
    pieces.push(make("rect", { ...each, fill: filled(hold), class: "held", "stroke-width": each.height < 4 ? 0 : 0.6 },
                     make("title", {}, `${isGuest(hold) ? "" : "job "}${called(hold)}`)), ...label(hold, each));
  }));
  const edges = nodes.name.length <= 64 ? nodes.first.map(core => `M0,${core * scale}h${width}`).join("") : "";
  at("schedule").replaceChildren(heading,
    make("svg", { viewBox: `-1 -3 ${width + 2} ${height + 25}`, "aria-hidden": "true" },
      make("defs", {}, make("clipPath", { id: "past" }, past)),
      make("rect", { width, height, class: "ground" }),
      make("g", { "clip-path": "url(#past)" }, ...pieces),
      make("path", { d: edges, class: "edges" }), ...ticks(height), hand));
}

const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];

// The first round step of time (s) that is no shorter: on a clock, or of days.
function roundTime(least) {
  const unit = least > 43200 ? 86400 : 1, power = unit * 10 ** Math.floor(Math.log10(least / unit));
  return (least < 1 ? [1, 2, 5, 10].map(each => each * power) : [...ROUND, ...[1, 2, 5, 10].map(each => each * power)])
    .find(each => each >= least);
}

const onClock = time => seconds(time).replace(/( 00:00)?:00$/, "");

function ticks(height) {
  const [begin, end] = span(), step = roundTime((end - begin) * 110 / width), found = [];
  for (let time = Math.ceil(begin / step) * step; time <= end * (1 + 1e-12); time += step) {
    const x = across(time), edge = x < 30 ? "start" : x > width - 40 ? "end" : "middle";
    found.push(make("path", { d: `M${x},${height}v4`, class: "tick" }),
               make("text", { x, y: height + 17, "text-anchor": edge }, onClock(time)));
  }
  return found;
}

function drawLegend() {
  const { title, names } = run.legend;
  at("legend").replaceChildren(...title ? [make("b", {}, title), ...names.map((name, place) =>
    make("span", {}, make("i", { style: `background:${run.colours[place]}` }), name))] : []);
}

function moveHand(frame) {
  const x = across(run.time[frame - run.first]);
  past.setAttribute("width", Math.max(0, x));
  hand.setAttribute("x1", x);
  hand.setAttribute("x2", x);
}

// ---------------------------------------------------------------- going through

let frame = 0;
let playing = null;
let asked = null;  // a frame that is being fetched

// One frame of those that were loaded.
function draw(wanted) {
  frame = wanted;
  const now = run.time[frame - run.first];
  at("clock").textContent = seconds(now);
  at("decision").replaceChildren(...decision(frame));
  at("queue").replaceChildren(...queueTable(frame));
  at("suspended").replaceChildren(...suspendedTable(frame));
  at("running").replaceChildren(...runningTable(frame));
  drawNodes(frame);
  if (hooks.schedule) moveHand(frame);
  at("slider").value = at("number").value = frame + 1;
  at("slider").setAttribute("aria-valuetext", `step ${frame + 1}, ${seconds(now)}`);
  mark("first", frame === run.begin);
  mark("back", frame === run.begin);
  mark("forward", frame === run.stop - 1);
  mark("last", frame === run.stop - 1);
}

const mark = (id, off) => at(id).setAttribute("aria-disabled", off);

const loaded = wanted => wanted >= run.first && wanted < run.first + run.time.length;

// To a frame; one that was not loaded is asked for.
function go(wanted) {
  if (!run || !Number.isFinite(wanted)) return;
  wanted = Math.min(Math.max(Math.round(wanted), run.begin), run.stop - 1);
  if (loaded(wanted)) {
    asked = null;
    draw(wanted);
    hooks.shown(wanted);
  } else {
    asked = wanted;
    hooks.beyond(wanted);
  }
}

function play(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => {
    if (frame + 1 >= run.stop) play(false); else if (asked === null) go(frame + 1);
  }, 1000 / Number(at("speed").value)) : null;
  at("play").textContent = on ? "❚❚ Pause" : "▶ Play";
}

const ACTIONS = {
  first: () => go(run.begin),
  back: () => go(frame - 1),
  forward: () => go(frame + 1),
  last: () => go(run.stop - 1),
};
const FIELDS = "input, textarea, select, [role=slider], [role=listbox], [role=combobox], .dash-dropdown";
const KEYS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };

function listen() {
  Object.entries(ACTIONS).forEach(([id, action]) => at(id).addEventListener("click", () => { play(false); action(); }));
  at("play").addEventListener("click", () => play(playing === null));
  at("speed").addEventListener("change", () => { if (playing !== null) play(true); });
  ["input", "change"].forEach(name => at("slider").addEventListener(name, () => {
    const wanted = at("slider").valueAsNumber - 1;
    play(false);
    if (name === "change" || loaded(wanted)) go(wanted);  // what is dragged over is not fetched
  }));
  at("number").addEventListener("change", () => { play(false); go(at("number").valueAsNumber - 1); });
  window.addEventListener("resize", () => { if (run && fitted() !== width) fit(); });
  document.addEventListener("keydown", event => {
    // Fields and the slider have meanings of their own for these keys.
    if (!run || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(FIELDS)) return;
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

const fitted = () => Math.min(860, Math.max(320, at("nodes").clientWidth));

// Draws all anew at the width that there is.
function fit() {
  width = fitted();
  drawMachine();
  if (hooks.schedule) drawSchedule();
  draw(frame);
}

// Makes the stepper's parts within an element. ``hooks``: shown(frame), after the user went to a frame; beyond(frame), to
// one that is not loaded; told(job), after a click on a job, if there is anything to be told; schedule, whether the
// schedule so far is drawn, too.
function build(root, its) {
  hooks = its;
  root.classList.add("stepper");
  root.innerHTML = PARTS;
  listen();
}

// Frames of a run, in place of those before, and which of them to show.
function load(data, wanted) {
  run = data;
  ({ jobs, nodes } = run);
  const prefix = common(nodes.name);
  short = nodes.name.map(name => name.slice(prefix.length));
  everyNode = nodes.name.map((_, node) => node);
  stays = rows(run.stays);
  suspended = rows(run.suspended);
  holds = rows(run.holds);
  holds.forEach(hold => { hold.byNode = hold.places.flatMap(([first, last]) => byNode(first, last)); });
  asked = null;
  frame = wanted;
  [at("slider").min, at("slider").max] =
    run.pages ? [run.first + 1, run.first + run.time.length] : [run.begin + 1, run.stop];
  at("number").max = run.stop;
  drawLegend();
  fit();
}

return { build, load, go };
})();
