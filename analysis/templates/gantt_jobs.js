// A run as a Gantt chart shows it: its jobs as columns, its rectangles, and which of them a filter keeps.
"use strict";
const TITLES = {
  job_id: "job", user: "user", account: "account", group: "group", queue: "queue", partition: "partition", qos: "QOS",
  profile: "profile", state: "state", compared: "than first run", shift_s: "start later by", wait_time: "waited",
  requested_cores: "cores", run_time: "ran", requested_time: "requested", slowdown: "slowdown", submit_time: "submitted",
  start_time: "started", finish_time: "finished", energy_j: "energy", attempts: "attempts",
};
// What a job held, core-seconds: the run says so where it is not run time × requested cores.
const coreSeconds = ({ core_s: held, run_time: ran, requested_cores: cores }, row) => (held ? held[row] : ran[row] * cores[row]) || 0;
const TIMES = ["submit_time", "start_time", "finish_time"];
const LENGTHS = ["wait_time", "run_time", "requested_time", "shift_s"];

class Run {
  constructor(told, time) {
    Object.assign(this, { name: told.name, yaxis: told.yaxis, at: told.at || 0, hover: told.hover, chains: told.chains, byJob: told.by_job, time });
    this.count = told.jobs.count;
    this.texts = told.jobs.lazily;
    this.numbers = madeLater(Object.keys(told.jobs.later), name => {
      const { values, missing } = told.jobs.later[name];
      for (const row of missing) values[row] = NaN;
      return values;
    });
    this.nodes = told.nodes;
    this.edge = told.edge;
    this.firstCore = told.first;
    this.groups = told.groups && new RowGroups(this, told.groups);
    [this.low, this.high] = this.groups ? this.groups.placed() : [this.edge.slice(0, -1), this.edge.slice(1)];
    this.spans = told.rectangles;
    this.rectangles = this.placed(this.spans);
    this.kept = null;  // of each job whether the filters keep it; null: all
    this.known = {};
  }

  // Where cores stand: as RowScale in analysis/gantt_chart/rows.py says.
  placed({ owner, start, end, first_core: first, last_core: last, said }) {
    const node = new Int32Array(this.firstCore.at(-1));
    for (let i = 0; i < this.nodes.length; i++) node.fill(i, this.firstCore[i], this.firstCore[i + 1]);
    this.nodeOf = node;
    const low = new Float32Array(owner.length), high = new Float32Array(owner.length), cores = new Float32Array(owner.length);
    for (let i = 0; i < owner.length; i++) {
      low[i] = this.place(first[i], node[first[i]]);
      high[i] = this.place(last[i] + 1, node[last[i]]);
      cores[i] = last[i] - first[i] + 1;
    }
    return { owner, start, end, low, high, cores, said };
  }

  place(core, node) {
    const begin = this.firstCore[node], share = (core - begin) / (this.firstCore[node + 1] - begin);
    return this.low[node] + share * (this.high[node] - this.low[node]);
  }

  has(name) { return name in this.numbers || name in this.texts; }

  text(name, row) { return String(this.texts[name].at(row)); }

  id(row) { return this.text("job_id", row); }

  row(id) {
    if (!this.known.rows) {
      this.known.rows = new Map();
      for (let row = 0; row < this.count; row++) this.known.rows.set(this.id(row), row);
    }
    return this.known.rows.get(id);
  }

  // A column as people read it.
  cell(name, row) {
    if (name in this.texts) return this.text(name, row) || "–";
    const value = this.numbers[name][row];
    if (value !== value) return "–";
    if (TIMES.includes(name)) return this.time.moment(value);
    if (LENGTHS.includes(name)) return lasting(value);
    return name === "energy_j" ? joules(value) : short(value);
  }

  // The values of a column of texts, those of most jobs first, and of each job which it has.
  values(name) {
    if (!this.known[name] && this.texts[name].kind === "$of") {
      const { numbers: code, value: { $of: names } } = this.texts[name], counts = names.map(() => 0);
      for (let row = 0; row < code.length; row++) counts[code[row]]++;
      this.known[name] = { code, names, counts };
    }
    if (!this.known[name]) {
      const code = new Int32Array(this.count), places = new Map(), counts = [];
      for (let row = 0; row < this.count; row++) {
        const text = this.text(name, row);
        if (!places.has(text)) { places.set(text, places.size); counts.push(0); }
        counts[code[row] = places.get(text)]++;
      }
      this.known[name] = { code, names: [...places.keys()], counts };
    }
    return this.known[name];
  }

  // Keep the jobs that have all the wanted values, hold the text in one of their columns, and meet the window.
  keep(wanted, text, window) {
    const tests = [];
    for (const [name, value] of Object.entries(wanted)) {
      if (!(name in this.texts)) continue;
      const { code, names } = this.values(name), place = names.indexOf(value);
      tests.push(row => code[row] === place);
    }
    if (text) {
      const low = text.toLowerCase(), columns = Object.keys(this.texts);
      tests.push(row => columns.some(name => this.text(name, row).toLowerCase().includes(low)));
    }
    this.kept = tests.length ? Uint8Array.from({ length: this.count }, (_, row) => +tests.every(test => test(row))) : null;
    const { submit_time: submit, finish_time: finish } = this.numbers, rows = [];
    for (let row = 0; row < this.count; row++) {
      if (this.kept && !this.kept[row]) continue;
      if (window && (submit[row] > window[1] || finish[row] < window[0])) continue;
      rows.push(row);
    }
    return rows;
  }

  // The rectangles in view, as their places.
  within({ start, end, low, high }) {
    const all = this.rectangles, found = new Uint32Array(all.owner.length);
    let count = 0;
    for (let i = 0; i < found.length; i++)
      if (all.end[i] >= start && all.start[i] <= end && all.high[i] > low && all.low[i] < high) found[count++] = i;
    return found.subarray(0, count);
  }

  // Those of the places whose jobs have rows of their own, not folded.
  unfolded(places) { return this.groups ? places.filter(i => !this.groups.isFolded(this.nodeOf[this.spans.first_core[i]])) : places; }

  // How many jobs rectangles belong to, without those that the filters leave out.
  jobsOf(places) {
    const seen = new Uint8Array(this.count), { owner } = this.rectangles;
    let jobs = 0;
    for (const i of places) {
      const row = owner[i];
      if (!seen[row] && (!this.kept || this.kept[row])) { seen[row] = 1; jobs++; }
    }
    return jobs;
  }

  // How many jobs ran.
  ran() { return this.known.ran ??= new Set(this.rectangles.owner).size; }

  // The rectangle at a time and height; -1: none.
  hit(time, height) {
    const all = this.rectangles;
    for (let i = 0; i < all.owner.length; i++)
      if (all.start[i] <= time && time <= all.end[i] && all.low[i] <= height && height <= all.high[i]) return i;
    return -1;
  }

  boxes(row) {
    const all = this.rectangles, found = [];
    for (let i = 0; i < all.owner.length; i++)
      if (all.owner[i] === row)
        found.push({ x0: all.start[i], x1: all.end[i], y0: all.low[i], y1: all.high[i], cores: all.cores[i] });
    return found.sort((a, b) => a.x0 - b.x0);
  }

  // The jobs for whose ends a job waited, one after the other, the earliest first: as Result.blocking_chain tells them.
  chain(row) {
    const { of, row: rows, before, cores, start, since } = this.chains?.later || {}, links = [];
    for (let step = of?.[row] ?? -1; step >= 0 && start[step] > since[row] && before[step] >= 0 && rows[before[step]] >= 0; step = before[step]) {
      const [from, to] = [start[before[step]], start[step]];
      links.unshift({ row: rows[before[step]], start: from, end: to, cores: cores[step], ofWait: to - Math.max(from, since[row]) });
    }
    return links;
  }

  // The lines of a job's hover, each a list of [text, bold].
  lines(row, rectangle = -1) {
    if (!this.hover || row >= this.hover.lazily[0].length)  // column 0 is the id
      return [[[`job ${this.id(row)}`, true]], ...Object.keys(TITLES).filter(name => name !== "job_id" && this.has(name))
        .map(name => [[`${TITLES[name]} ${this.cell(name, row)}`, false]])];
    const { template, lazily, same, pieces } = this.hover, { said } = this.rectangles;
    const filled = template.replace("<extra></extra>", "").replace(/%\{customdata\[(\d+)\](:[^}]*)?\}/g, (_, place, form) => {
      const value = place in same ? this.cell(same[place], row) : lazily[place].at(row);
      return form ? Number(value).toLocaleString("en") : value;
    }) + (pieces && rectangle >= 0 ? pieces[said[rectangle]] : "");
    return filled.split("<br>").map(line => line.split(/<\/?b>/).map((text, place) => [plain(text), place % 2 === 1]));
  }
}

class Time {
  constructor({ unit, factor, offset }) { Object.assign(this, { unit, factor, offset }); }

  place(seconds) { return seconds * this.factor + this.offset; }

  seconds(place) { return (place - this.offset) / this.factor; }

  moment(seconds) {
    if (this.unit === "calendar") return new Date(this.place(seconds)).toISOString().slice(0, 19).replace("T", " ");
    return this.unit === "elapsed" ? moment(seconds) : `${short(seconds * this.factor)} ${this.unit}`;
  }
}

const short = value => (value >= 1e3 ? Math.round(value) : Number(value.toPrecision(3))).toLocaleString("en", { maximumFractionDigits: 6 });
const countedJobs = count => `${short(count)} ${count === 1 ? "job" : "jobs"}`;
const countedCores = count => `${short(count)} ${count === 1 ? "core" : "cores"}`;
const coreTime = seconds => seconds < 360 ? `${short(seconds)} core-s` : `${short(seconds / 3600)} core h`;
const joules = value => {
  const [size, unit] = [[3.6e9, "MWh"], [3.6e6, "kWh"], [1e3, "kJ"], [1, "J"]].find(([size]) => value >= size) || [1, "J"];
  return `${short(value / size)} ${unit}`;
};
const byNumberOrName = new Intl.Collator(undefined, { numeric: true }).compare;
const plain = text => String(text).replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
const escaped = text => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
