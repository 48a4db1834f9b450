// The jobs in view as plotly traces: bars that are outlined where there is room, merged outlines of a colour, or shades of what
// holds most of a cell.
"use strict";
const MOST_BARS = 2000, MOST_OUTLINES = 15000, MOST_IDS = 250, MOST_BINS = 1200, SHADES = 3;
const IDS_AXIS = "x9";  // where there is a slider, which would show them else: as analysis/gantt_chart/layout.py says

// view: start, end (s), low, high (rows), width, height (px). dim: the colour of jobs that the filters leave out. whole: what a
// small copy under the chart shows, as a view; what of it is out of view is drawn for it alone.
function jobTraces(run, colouring, codes, view, { paper, dim }, way, whole) {
  const drawn = (places, how, view) => {
    const classes = byCode(run, codes, places).map(([code, places]) => ({
      places: how === asShades ? places : Array.from(places),
      colour: code < 0 ? dim : colouring.colours[code], line: code < 0 ? paper : colouring.lines[code],
    }));
    return how(run, classes, view, paper).map(trace => ({
      ...trace, yaxis: run.yaxis, xaxis: "x", meta: "jobs", hoverinfo: "skip", showlegend: false }));
  };
  const all = run.within(view), seen = run.unfolded(all);
  const how = way || (seen.length <= MOST_BARS ? asBars : seen.length <= MOST_OUTLINES ? asOutlines : asShades);
  const rest = whole ? without(run.unfolded(run.within(whole)), seen) : [];
  const traces = rest.length ? drawn(rest, rest.length <= MOST_OUTLINES ? asOutlines : asShades, whole) : [];
  traces.push(...drawn(seen, how, view), ...asUse(run, codes, colouring, view, dim));
  if (how !== asShades) traces.push({ ...idTexts(run, colouring, codes, view, seen), xaxis: whole ? IDS_AXIS : "x" });
  return { traces, count: seen.length, jobs: run.jobsOf(all), how: how.name };
}

// Those of the places, which ascend, that are not among the others, which ascend, too.
function without(places, others) {
  let next = 0;
  return places.filter(place => {
    while (next < others.length && others[next] < place) next++;
    return others[next] !== place;
  });
}

// The rectangles of each code in use, -1 for jobs that the filters leave out, in the order of the codes.
function byCode(run, codes, seen) {
  const { owner } = run.rectangles, { kept } = run, code = i => kept && !kept[owner[i]] ? 0 : 1 + codes[owner[i]];
  const counts = [];
  for (const i of seen) { const own = code(i); counts[own] = (counts[own] || 0) + 1; }
  const groups = counts.map(count => new Uint32Array(count)), filled = counts.map(() => 0);
  for (const i of seen) { const own = code(i); groups[own][filled[own]++] = i; }
  return groups.flatMap((places, own) => [[own - 1, places]]);
}

function asBars(run, classes, view) {
  const { start, end, low, high } = run.rectangles, px = view.height / (view.high - view.low);
  const wide = view.width / (view.end - view.start);
  const outlined = i => (high[i] - low[i]) * px >= 4 && (end[i] - start[i]) * wide >= 3;
  const made = (places, colour, line, thick) => ({
    type: "bar", orientation: "h",
    base: places.map(i => run.time.place(start[i])),
    x: places.map(i => run.time.place(end[i] - (thick ? 0 : Math.min(0.5 / wide, 0.2 * (end[i] - start[i])))) - run.time.place(start[i])),
    y: places.map(i => (low[i] + high[i]) / 2),
    width: places.map(i => high[i] - low[i] - ((high[i] - low[i]) * px >= 4 ? 1 / px : 0)),
    marker: { color: colour, line: { width: thick ? 1 : 0, color: line } },
  });
  return classes.flatMap(({ places, colour, line }) => [true, false].map(
    thick => made(places.filter(i => outlined(i) === thick), colour, line, thick)).filter(trace => trace.x.length));
}

// It goes around each rectangle and on to the next, and back by the same ways: as analysis/gantt_chart/traces.py strings them. A part of a
// pixel is left between neighbours, so that they are told apart.
function asOutlines(run, classes, view) {
  const { start, end, low, high } = run.rectangles;
  const apart = 0.6 * (view.end - view.start) / view.width, between = 0.6 * (view.high - view.low) / view.height;
  return classes.map(({ places, colour }) => {
    const count = places.length, x = new Float64Array(6 * count), y = new Float64Array(6 * count);
    places.forEach((i, place) => {
      const x0 = run.time.place(start[i]), x1 = run.time.place(end[i] - Math.min(apart, 0.2 * (end[i] - start[i])));
      const y0 = low[i], y1 = high[i] - Math.min(between, 0.2 * (high[i] - low[i]));
      x.set([x0, x1, x1, x0, x0], 5 * place);
      y.set([y0, y0, y1, y1, y0], 5 * place);
      x[6 * count - 1 - place] = x0;
      y[6 * count - 1 - place] = y0;
    });
    return { type: "scatter", mode: "none", fill: "toself", fillcolor: colour, line: { simplify: false }, x, y };
  });
}

// Each cell has the colour of those jobs that hold most of it, paler where less of it is held.
function asShades(run, classes, view, paper) {
  const { start, end, low, high } = run.rectangles;
  const bins = Math.min(MOST_BINS, Math.round(view.width)), step = (view.end - view.start) / bins;
  const tall = cellHeight(run, view), bottom = run.edge[0] + Math.floor((view.low - run.edge[0]) / tall) * tall;
  const cells = Math.max(1, Math.ceil((view.high - bottom) / tall - 1e-9));
  const most = new Float32Array(cells * bins), held = new Float32Array(cells * bins), which = new Uint8Array(cells * bins);
  classes.forEach(({ places }, code) => {
    const parts = new Float32Array(cells * bins), level = new Float32Array(cells * (bins + 1));
    for (const i of places) {
      const from = Math.max(0, (start[i] - view.start) / step), to = Math.min(bins, (end[i] - view.start) / step);
      const first = Math.min(Math.floor(from), bins - 1), last = Math.min(Math.floor(to), bins - 1);
      const top = Math.min(cells - 1, Math.floor((high[i] - bottom) / tall - 1e-6));
      for (let cell = Math.max(0, Math.floor((low[i] - bottom) / tall + 1e-6)); cell <= top; cell++) {
        const y0 = bottom + cell * tall, share = (Math.min(high[i], y0 + tall) - Math.max(low[i], y0)) / tall;
        if (first === last) { parts[cell * bins + first] += share * (to - from); continue; }
        parts[cell * bins + first] += share * (first + 1 - from);
        parts[cell * bins + last] += share * (to - last);
        level[cell * (bins + 1) + first + 1] += share;
        level[cell * (bins + 1) + last] -= share;
      }
    }
    for (let cell = 0; cell < cells; cell++)
      for (let bin = 0, sum = 0; bin < bins; bin++) {
        const place = cell * bins + bin, part = (sum += level[place + cell]) + parts[place];
        held[place] += part;
        if (part > most[place]) { most[place] = part; which[place] = code; }
      }
  });
  const z = Array.from({ length: cells }, (_, cell) => Float32Array.from({ length: bins }, (_, bin) => {
    const place = cell * bins + bin;
    return held[place] < 0.02 ? NaN : SHADES * which[place] + Math.min(SHADES - 1, Math.floor(held[place] * SHADES)) + 0.5;
  }));
  const steps = SHADES * classes.length, palette = classes.flatMap(({ colour }) => [0.6, 0.3, 0].map(share => mixed(colour, paper, share)));
  return [{
    type: "heatmap", z, zmin: 0, zmax: steps, showscale: false,
    colorscale: palette.flatMap((colour, place) => [[place / steps, colour], [(place + 1) / steps, colour]]),
    x0: run.time.place(view.start + step / 2), dx: step * run.time.factor, y0: bottom + tall / 2, dy: tall,
  }];
}

// Of a cell: whole rows where many share a pixel, else whole parts of one.
function cellHeight(run, view) {
  const rows = view.high - view.low, most = Math.max(1, view.height / 2);
  if (rows > most) return Math.ceil(rows / most);
  const cores = run.firstCore.at(-1) / (run.edge.at(-1) - run.edge[0]);
  return 1 / Math.max(1, Math.min(Math.floor(most / rows), Math.round(cores)));
}

// Ids in the largest rectangles that have room for them; where there is more of it, their cores and how long they ran.
function idTexts(run, colouring, codes, view, seen) {
  const { owner, start, end, low, high, cores, said } = run.rectangles;
  const px = view.height / (view.high - view.low), wide = view.width / (view.end - view.start);
  const roomy = [];
  for (const i of seen) {
    if (run.kept && !run.kept[owner[i]]) continue;
    const x0 = Math.max(start[i], view.start), x1 = Math.min(end[i], view.end), width = (x1 - x0) * wide;
    const y0 = Math.max(low[i], view.low), y1 = Math.min(high[i], view.high), height = (y1 - y0) * px;
    if (height >= 12 && width >= 16) roomy.push({ i, x: (x0 + x1) / 2, y: (y0 + y1) / 2, width, height });
  }
  roomy.sort((a, b) => b.width * b.height - a.width * a.height);
  const shown = [];
  for (const box of roomy) {
    const id = run.id(owner[box.i]), text = id.length > 16 ? `${id.slice(0, 15)}…` : id;
    if (box.width < 7 * text.length + 6) continue;
    const more = `${short(cores[box.i])} × ${lasting(end[box.i] - start[box.i])}`;
    shown.push({ ...box, text: escaped(text) + (box.height >= 30 && box.width >= 7 * more.length ? `<br>${more}` : "") });
    if (shown.length === MOST_IDS) break;
  }
  return {
    type: "scatter", mode: "text", meta: "ids", yaxis: run.yaxis, hoverinfo: "skip", showlegend: false,
    x: shown.map(box => run.time.place(box.x)), y: shown.map(box => box.y), text: shown.map(box => box.text),
    // On what was lost, which is pale whatever the job's colour, an edge in the other colour keeps them readable.
    textfont: { size: 11, color: shown.map(box => colouring.inks[codes[owner[box.i]]]), shadow: shown.map(box => said?.[box.i] ? "auto" : "") },
  };
}

// Names of groups and of nodes that have room, of their cores where these have it, too.
function rowTicks(run, view, names) {
  const first = [], texts = [], px = view.height / (view.high - view.low), all = run.firstCore;
  for (const { name, low, high, folded } of run.groups?.rows || [])
    if (high > view.low && low < view.high) { first.push((low + high) / 2); texts.push(`${folded ? "▸" : "▾"} ${name}`); }
  const seen = run.nodes.map((_, node) => node).filter(node => run.high[node] > view.low && run.low[node] < view.high && !run.groups?.isFolded(node));
  const rows = node => run.high[node] - run.low[node], counted = node => all[node + 1] - all[node];
  if (seen.length && seen.every(node => px * rows(node) / counted(node) >= 16 && counted(node) > 1)) {
    for (const node of seen)
      for (let core = all[node]; core < all[node + 1]; core++) {
        first.push((run.place(core, node) + run.place(core + 1, node)) / 2);
        texts.push(`${names[node]}, ${core - all[node]}`);
      }
    return { tickvals: first, ticktext: texts };
  }
  const least = seen.length * 15 / Math.max(px * seen.reduce((sum, node) => sum + rows(node), 0), 1);
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4].find(each => each >= least) || 1e5;
  const middle = node => (run.low[node] + run.high[node]) / 2, isFree = node => first.every(each => px * Math.abs(each - middle(node)) >= 13);
  const named = seen.filter(node => node % step === 0 && isFree(node));
  return { tickvals: [...first, ...named.map(middle)], ticktext: [...texts, ...named.map(node => names[node])] };
}

function mixed(colour, other, share) {
  const part = (text, place) => parseInt(text.slice(place, place + 2), 16);
  return "#" + [1, 3, 5].map(place => Math.round(part(colour, place) * (1 - share) + part(other, place) * share)
    .toString(16).padStart(2, "0")).join("");
}
