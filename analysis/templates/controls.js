// What the pages add to plotly: unpacking of what they contain, and a line of controls above each chart of jobs.
// Texts in the charts come from input files. They are put into the page as text, never as markup.
"use strict";
const clusterSim = {
  ready: null,

  async unpack(base64) {
    const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },

  // What analysis/payload.py wrote: a line of JSON, and the bytes of the arrays in it.
  async figure(base64) {
    const bytes = await this.unpack(base64), end = bytes.indexOf(10);
    const text = new TextDecoder().decode(bytes.subarray(0, end));
    return JSON.parse(text, (_, value) => whole(value, bytes.subarray(end + 1)));
  },

  load(plotly) {
    this.ready = this.unpack(plotly).then(bytes => {
      const text = new TextDecoder().decode(bytes);
      const script = document.createElement("script");
      script.textContent = text;
      document.head.append(script);
    });
  },

  failed: id => error => {
    const old = typeof DecompressionStream === "undefined";
    document.getElementById(id).textContent =
      old ? "This page needs a browser of 2023 or later." : `The figure could not be drawn: ${error}`;
  },

  // A page that is dark, by its own style, has its charts on the same ground: their papers, texts and grids change places.
  onGround(layout) {
    if (getComputedStyle(document.documentElement).colorScheme !== "dark") return layout;
    const dark = { "#ffffff": "#15191d", "#22303c": "#e3e8ec", "#e4e8ec": "#313a42", "#5a6772": "#a7b1ba" };
    const turned = value =>
      typeof value === "string" ? dark[value.toLowerCase()] || value :
      Array.isArray(value) ? value.map(turned) :
      value === null || typeof value !== "object" || ArrayBuffer.isView(value) ? value :
      Object.fromEntries(Object.entries(value).map(([key, each]) => [key, turned(each)]));
    return turned(layout);
  },

  // ---------------------------------------------------------------- time

  // An axis of seconds from the start of a run has ticks at round times, wherever it is zoomed to: analysis/time_axis.py
  // makes those of the whole in the same way.
  followTime(chart) {
    if (!chart.layout.meta || !chart.layout.meta.elapsed) return;
    const names = Object.keys(chart._fullLayout).filter(name => /^xaxis\d*$/.test(name));
    let told = "";
    chart.on("plotly_relayout", () => {
      const [start, end] = chart._fullLayout.xaxis.range;
      if (told === `${start} ${end}`) return;
      told = `${start} ${end}`;
      const { places, texts } = roundTicks(start, end, 9);
      Plotly.relayout(chart, Object.fromEntries(names.flatMap(
        name => [[`${name}.tickvals`, places], [`${name}.ticktext`, texts]])));
    });
  },

  // ---------------------------------------------------------------- controls

  addControls(chart) {
    this.followTime(chart);
    const columns = chart.layout.meta && chart.layout.meta.columns;
    const traces = chart._fullData.filter(trace => trace.meta === "jobs" || trace.meta === "hover");
    if (!columns || !traces.length) return;
    const all = traces.map(trace => new JobTrace(trace));
    all.forEach((trace, place) => { if (trace.outlines) trace.points = all[place + 1].data; });
    const bar = document.createElement("div");
    bar.className = "controls";
    bar.style.cssText = "display: flex; flex-wrap: wrap; gap: 18px; font-size: 13px; color: #5a6772; margin: 6px 0;";
    const said = document.createElement("output");
    const filters = ["user", "profile"].filter(name => name in columns).map(name => {
      const values = new Set(all.flatMap(trace => trace.rows.map(row => row[columns[name]])));
      return values.size > 1 ? { column: columns[name], select: choice(name, [...values].sort(byNumberOrName)) } : null;
    }).filter(Boolean);

    const filter = () => {
      const wanted = filters.filter(each => each.select.value !== "");
      const keep = row => wanted.every(each => row[each.column] === each.select.value);
      const update = merged(all.map(trace => trace.filtered(wanted.length ? keep : null)));
      Plotly.restyle(chart, update.values, update.indices);
      const jobs = new Set(all.flatMap(trace => trace.rows).map(row => row[0]));
      const shown = new Set(all.flatMap(trace => trace.rows).filter(keep).map(row => row[0]));
      said.textContent = wanted.length ? `${shown.size} of ${jobs.size} jobs shown` : "";
    };
    filters.forEach(each => each.select.addEventListener("change", filter));

    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "job id";
    search.setAttribute("aria-label", "search for a job");
    const find = () => {
      const boxes = all.flatMap(trace => trace.boxesOf(escaped(search.value.trim())));
      said.textContent = search.value && !boxes.length ? "no such job among those drawn" : "";
      const marks = boxes.slice(0, 200).map(box => ({
        type: "rect", name: "found", x0: box.x0, x1: box.x1, y0: box.y0, y1: box.y1, yref: box.axis,
        line: { color: "#000000", width: 3 },
      }));
      const others = (chart.layout.shapes || []).filter(shape => shape.name !== "found");
      const change = { shapes: others.concat(marks) };
      if (boxes.length) {
        const left = Math.min(...boxes.map(box => box.x0)), right = Math.max(...boxes.map(box => box.x1));
        const room = Math.max(right - left, 1e-9);
        change["xaxis.range"] = [left - 2 * room, right + 2 * room];
      }
      Plotly.relayout(chart, change);
    };
    search.addEventListener("change", find);

    if (chart._fullData.some(trace => trace.meta === "pieces")) this.linkPieces(chart, all);
    bar.append(label("Find job", search), ...filters.map(each => label(each.select.name, each.select)), said);
    chart.before(bar);
  },
};

// ---------------------------------------------------------------- pieces of a job

// The pieces of the job under the mouse are outlined, and a line goes from each to the next.
clusterSim.linkPieces = (chart, all) => {
  const known = new Map();
  const linked = job => {
    if (!known.has(job)) known.set(job, links(all.flatMap(trace => trace.boxesOf(job))));
    return known.get(job);
  };
  const show = shapes => {
    const others = (chart.layout.shapes || []).filter(shape => shape.name !== "linked");
    if (shapes.length || others.length < (chart.layout.shapes || []).length)
      Plotly.relayout(chart, { shapes: others.concat(shapes) });
  };
  let last = "";
  chart.on("plotly_hover", ({ points }) => {
    const [point] = points.filter(each => ["jobs", "hover"].includes(each.data.meta));
    const job = point && point.customdata ? point.customdata[0] : "";
    if (job !== last) show(linked(last = job));
  });
  chart.on("plotly_unhover", () => { if (last !== "") show(linked(last = "")); });
};

function links(boxes) {
  const times = new Map();  // of each piece: its boxes
  boxes.forEach(box => times.set(+box.x0, [...times.get(+box.x0) || [], box]));
  const pieces = [...times.keys()].sort((a, b) => a - b).map(start => times.get(start));
  if (pieces.length < 2 || boxes.length > 400) return [];
  const middle = piece => (Math.min(...piece.map(box => box.y0)) + Math.max(...piece.map(box => box.y1))) / 2;
  const look = { name: "linked", yref: boxes[0].axis }, line = { color: "#000000", width: 2 };
  return boxes.map(box => ({ ...look, type: "rect", x0: box.x0, x1: box.x1, y0: box.y0, y1: box.y1, line }))
    .concat(pieces.slice(1).filter((piece, place) => piece[0].x0 > pieces[place][0].x1).map(piece => {
      const before = pieces[pieces.indexOf(piece) - 1];
      return { ...look, type: "line", x0: before[0].x1, x1: piece[0].x0, y0: middle(before), y1: middle(piece),
               line: { ...line, dash: "dot" } };
    }));
}

// ---------------------------------------------------------------- time

const STEPS = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1].flatMap(power => [power, 2 * power, 5 * power]).concat(
  10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200);
const DAY = 86400;

function roundTicks(start, end, most) {
  const span = (end - start) / most;
  const days = 10 ** Math.floor(Math.log10(Math.max(span, DAY) / DAY));
  const step = STEPS.concat([1, 2, 5, 10].map(times => DAY * days * times)).find(each => each >= span);
  const places = [];
  for (let i = Math.ceil(start / step); i <= Math.floor(end / step); i++) places.push(+(i * step).toFixed(6));
  return { places, texts: places.map((place, number) => tick(place, step, end, number === 0)) };
}

function tick(time, step, end, first) {
  const written = value => value.toLocaleString("en", { maximumFractionDigits: 6 });
  if (end <= 600) return `${written(time)} s`;
  if (step >= 60 && end <= 3 * 3600) return `${written(time / 60)} min`;
  const day = Math.floor(time / DAY), rest = time - day * DAY;
  if (rest === 0) return `${written(day)} d`;
  const two = value => String(Math.floor(value)).padStart(2, "0");
  let clock = `${two(rest / 3600)}:${two(rest / 60 % 60)}`;
  if (step < 60) {
    const places = step < 1 ? Math.max(0, Math.ceil(-Math.log10(step))) : 0;
    clock += `:${(rest % 60).toFixed(places).padStart(places ? 3 + places : 2, "0")}`;
  }
  return first && day ? `${clock}<br>${written(day)} d` : clock;
}

// ---------------------------------------------------------------- arrays

const ARRAYS = {
  f8: Float64Array, f4: Float32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
};

// An object that stands for an array, as that array; anything else as it is.
function whole(value, bytes) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  if ("$ints" in value) return shaped(integers(value, bytes), value.shape);
  if ("$bytes" in value) return shaped(anything(value, bytes), value.shape);
  if ("$strung" in value) return outlines(value);
  if ("$text" in value) return Array.from(value.$text, String);
  if ("$moment" in value) return Object.assign(Array.from(value.$moment, moment), value.rest);
  if ("$of" in value) return Array.from(value.code, code => value.$of[code]);
  if ("$rows" in value) return Array.from(value.$rows[0], (_, place) => value.$rows.map(column => column[place]));
  return value;
}

// A time of a run as cluster_sim/amounts.py writes it.
function moment(time) {
  const two = value => String(Math.floor(value)).padStart(2, "0"), day = Math.floor(time / DAY);
  const clock = `${two(time / 3600 % 24)}:${two(time / 60 % 60)}:${two(time % 60)}`;
  return day ? `${day.toLocaleString("en")} d ${clock}` : clock;
}

function integers({ $ints: type, places, at, count, wide }, bytes) {
  const found = new ARRAYS[type](count), unit = 10 ** places;
  let last = 0;
  for (let i = 0; i < count; i++) {
    let folded = 0;  // up to 53 bits: no operators of bits
    for (let plane = wide - 1; plane >= 0; plane--) folded = 256 * folded + bytes[at + plane * count + i];
    last += folded % 2 ? -(folded + 1) / 2 : folded / 2;
    found[i] = last / unit;
  }
  return found;
}

function anything({ $bytes: type, at, count, wide }, bytes) {
  const raw = new Uint8Array(count * wide);
  for (let plane = 0; plane < wide; plane++) {
    let last = 0;
    for (let i = 0; i < count; i++) raw[i * wide + plane] = last ^= bytes[at + plane * count + i];
  }
  return new ARRAYS[type](raw.buffer);
}

function outlines({ $strung: order, type, a, b }) {
  const count = a.length, found = new ARRAYS[type](6 * count);
  for (let i = 0; i < count; i++) {
    for (let corner = 0; corner < 5; corner++) found[5 * i + corner] = (order[corner] === "a" ? a : b)[i];
    found[6 * count - 1 - i] = a[i];
  }
  return found;
}

function shaped(values, shape) {
  if (!shape) return values;
  const [rows, columns] = String(shape).split(",").map(Number);
  return Array.from({ length: rows }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
}

// ---------------------------------------------------------------- jobs

// A trace of jobs as it was at first. Bars have a row of customdata each. Outlines of polygons are five places each, then
// the way back, one place each; customdata says which hover point, in the trace that follows, stands for their job.
class JobTrace {
  constructor(trace) {
    this.index = trace.index;
    this.axis = trace.yaxis;
    this.type = trace.type;
    this.outlines = trace.type === "scatter";
    this.data = Array.from(trace.customdata);
    this.rows = this.outlines ? [] : this.data;
    this.x = trace.x; this.y = trace.y; this.base = trace.base; this.width = trace.width;
    this.pattern = trace.marker && trace.marker.pattern && trace.marker.pattern.shape;
  }

  row(place) { return this.outlines ? this.points[this.data[place]] : this.data[place]; }

  places(keep) {
    const found = [];
    for (let place = 0; place < this.data.length; place++) if (keep(this.row(place))) found.push(place);
    return found;
  }

  filtered(keep) {
    const places = keep ? this.places(keep) : null;
    const pick = values => !places || !values || !values.length ? values : places.map(place => values[place]);
    if (this.outlines) {
      const strung = values => !places ? values
        : places.flatMap(place => Array.from(values.slice(5 * place, 5 * place + 5)))
          .concat(places.map(place => values[5 * place]).reverse());
      return { index: this.index, values: { x: strung(this.x), y: strung(this.y) } };
    }
    const values = { x: pick(this.x), y: pick(this.y), customdata: pick(this.data) };
    if (this.type === "bar") {
      values.base = pick(this.base);
      values.width = pick(this.width);
      if (Array.isArray(this.pattern)) values["marker.pattern.shape"] = pick(this.pattern);
    }
    return { index: this.index, values };
  }

  boxesOf(job) {
    if (this.type === "scattergl" || job === "") return [];
    return this.places(row => row[0] === job).map(place => {
      if (this.outlines) {
        const x = this.x.slice(5 * place, 5 * place + 4), y = this.y.slice(5 * place, 5 * place + 4);
        return { x0: x[0], x1: x[1], y0: y[0], y1: y[2], axis: this.axis };
      }
      const half = this.width[place] / 2;
      return { x0: this.base[place], x1: this.base[place] + this.x[place],
               y0: this.y[place] - half, y1: this.y[place] + half, axis: this.axis };
    });
  }
}

function merged(updates) {
  const names = new Set(updates.flatMap(update => Object.keys(update.values)));
  const values = {};
  for (const name of names) values[name] = updates.map(update => update.values[name]);
  return { values, indices: updates.map(update => update.index) };
}

function choice(name, values) {
  const select = document.createElement("select");
  select.name = name;
  select.append(new Option("all", ""), ...values.slice(0, 1000).map(value => new Option(plain(value), value)));
  return select;
}

function label(text, element) {
  const whole = document.createElement("label");
  whole.append(`${text} `, element);
  return whole;
}

const byNumberOrName = new Intl.Collator(undefined, { numeric: true }).compare;
const escaped = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const plain = text => String(text).replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
