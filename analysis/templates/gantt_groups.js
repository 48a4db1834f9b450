// Groups of nodes in a Gantt chart: each has a row; a click folds it, so that the row shows its use, and unfolds it.
"use strict";
const MOST_USE = 30000;  // rectangles that show the use of folded groups, about

class RowGroups {
  constructor(run, { rows, of, law }) {
    Object.assign(this, { run, rows, of, law, moves: new Map() });
    this.first = rows.map(({ folded }) => folded);
    this.nodes = rows.map(() => []);
    of.forEach((group, node) => this.nodes[group].push(node));
    [this.givenLow, this.givenHigh] = this.placed();
    this.order = this.nodes.flat();
    this.cores = this.nodes.map(nodes => nodes.reduce((sum, node) => sum + run.firstCore[node + 1] - run.firstCore[node], 0));
  }

  isFolded(node) { return this.rows[this.of[node]].folded; }

  // Where the rows of groups are, and where nodes begin and end: as grouped_rows of analysis/gantt_chart/rows.py says.
  placed() {
    const { rows, nodes, law, run: { edge, firstCore } } = this, total = edge.at(-1) - edge[0], size = node => edge[node + 1] - edge[node];
    const cores = node => firstCore[node + 1] - firstCore[node], sum = (nodes, of) => nodes.reduce((all, node) => all + of(node), 0);
    const own = rows.map(({ folded }) => (folded ? law.folded : law.open) * total / law.room), all = own.reduce((a, b) => a + b, 0);
    const open = rows.reduce((all, { folded }, group) => folded ? all : all + sum(nodes[group], size), 0);
    const factor = open ? Math.min(1, law.most * total / all) : total / all, scale = open && (total - all * factor) / open;
    const low = new Float64Array(this.of.length), high = new Float64Array(this.of.length);
    let at = edge[0];
    rows.forEach((row, group) => {
      const end = at + own[group] * factor, held = sum(nodes[group], cores);
      let next = row.folded ? at : end;
      Object.assign(row, { low: at, high: end });
      for (const node of nodes[group]) {
        low[node] = next;
        high[node] = next += row.folded ? cores(node) * own[group] * factor / held : size(node) * scale;
      }
      at = row.folded ? end : next;
    });
    return [low, high];
  }

  fold(wanted) {
    const { run } = this;
    this.rows.forEach((row, group) => { row.folded = wanted(row.folded, group); });
    [run.low, run.high] = this.placed();
    run.rectangles = run.placed(run.spans);
    this.moves.clear();
  }

  // The group whose row is at a height; -1: none.
  at(height) { return this.rows.findIndex(({ low, high }) => low <= height && height <= high); }

  // What is told of a group, at a time.
  told(group, time) {
    const { rows, nodes, cores, of, run } = this, { rectangles: all, spans, nodeOf } = run, { name, folded } = rows[group];
    let busy = 0;
    for (let i = 0; i < all.owner.length; i++)
      if (all.start[i] <= time && time < all.end[i] && of[nodeOf[spans.first_core[i]]] === group) busy += all.cores[i];
    return [[[plain(name), true]], [[`${short(nodes[group].length)} nodes, ${short(cores[group])} cores`, false]],
      [[`${short(busy)} of them (${short(100 * busy / cores[group])} %) in use at ${run.time.moment(time)}`, false]],
      [[`a click ${folded ? "shows its nodes" : "folds it"}`, false]]];
  }

  // Where something was drawn on nodes of a group, and is now; null if the group is folded: its row shows the use alone.
  moved(low, high) {
    const { givenLow: lows, givenHigh: highs, run, order } = this, middle = (low + high) / 2;
    let first = 0, stop = order.length;
    while (first < stop - 1) { const at = (first + stop) >> 1; if (lows[order[at]] <= middle) first = at; else stop = at; }
    if (this.isFolded(order[first])) return null;
    const own = this.nodes[this.of[order[first]]], on = (value, node = order[first]) =>
      run.low[node] + (value - lows[node]) / (highs[node] - lows[node]) * (run.high[node] - run.low[node]);
    return [on(low, own.findLast(node => lows[node] <= low + 1e-9)), on(high, own.find(node => highs[node] >= high - 1e-9))];
  }

  // What a figure has on these rows beside jobs, such as nodes that are off, where it belongs now.
  movedTrace(trace) {
    if (!trace.y || (trace.yaxis || "y") !== this.run.yaxis) return trace;
    if (!this.moves.has(trace)) this.moves.set(trace, this.placesOf(trace));
    return { ...trace, ...this.moves.get(trace) };
  }

  placesOf({ type, mode, meta, y, width }) {
    if (type === "bar") {
      const found = Array.from(y, (middle, i) => this.moved(middle - width[i] / 2, middle + width[i] / 2));
      return { y: found.map(each => each && (each[0] + each[1]) / 2), width: found.map(each => each ? each[1] - each[0] : 0) };
    }
    const strung = mode === "none", found = Array.from(y), wide = strung ? 5 : 6;
    if (!strung && (mode !== "lines" || meta !== "reservations"))
      return { y: found.map(each => Number.isFinite(each) ? this.moved(each, each)?.[0] ?? null : each) };
    // Outlines: five corners each, and a sixth place, which leads back or is empty.
    for (let i = 0; i < found.length / 6; i++) {
      const [low, high] = this.moved(found[wide * i], found[wide * i + 2]) || [NaN, NaN];
      [low, low, high, high, low].forEach((each, corner) => { found[wide * i + corner] = each; });
      if (strung) found[found.length - 1 - i] = low;
    }
    return { y: found };
  }
}

// The use of folded groups: areas of the colours of jobs, one on the other, as high as their share of the group's cores.
function asUse(run, codes, colouring, view, dim) {
  const { groups, rectangles: all, spans, nodeOf, kept } = run;
  if (!groups?.rows.some(({ folded }) => folded)) return [];
  const folded = groups.rows.flatMap(({ folded, low, high }, group) => folded && high > view.low && low < view.high ? [group] : []);
  const colours = [...colouring.colours, dim], inUse = new Set();
  const own = run.within(view).filter(i => groups.isFolded(nodeOf[spans.first_core[i]])), codeOf = i => kept && !kept[all.owner[i]] ? colours.length - 1 : codes[all.owner[i]];
  for (const i of own) inUse.add(codeOf(i));
  const bins = Math.round(Math.min(view.width, Math.max(100, MOST_USE / Math.max(1, folded.length * inUse.size)))), step = (view.end - view.start) / bins;
  const level = new Map();
  for (const i of own) {
    const group = groups.of[nodeOf[spans.first_core[i]]], key = group * colours.length + codeOf(i), share = all.cores[i] / groups.cores[group];
    if (!level.has(key)) level.set(key, new Float32Array(bins + 2));
    const parts = level.get(key), from = Math.max(0, (all.start[i] - view.start) / step), to = Math.min(bins, (all.end[i] - view.start) / step);
    for (const [edge, sign] of [[from, 1], [to, -1]]) {  // differences of the mean of each part: summed up below
      const part = Math.floor(edge), beyond = edge - part;
      parts[part] += sign * share * (1 - beyond);
      if (beyond) parts[part + 1] += sign * share * beyond;
    }
  }
  const traces = new Map(), below = new Map();
  for (const key of [...level.keys()].sort((a, b) => a - b)) {
    const group = Math.floor(key / colours.length), code = key % colours.length, { low, high } = groups.rows[group], parts = level.get(key);
    const since = below.get(group) || new Float32Array(bins), trace = traces.get(code) || { x: [], y: [] };
    for (let bin = 0, share = 0, last; bin < bins; bin++) {
      share += parts[bin];
      if (share < 1e-4) { last = null; continue; }
      const y0 = high - since[bin] * (high - low), y1 = high - (since[bin] += share) * (high - low), end = run.time.place(view.start + (bin + 1) * step);
      if (last && last.y0 === y0 && last.y1 === y1) { last.x1 = end; continue; }
      (trace.boxes ??= []).push(last = { x0: run.time.place(view.start + bin * step), x1: end, y0, y1 });
    }
    below.set(group, since);
    traces.set(code, trace);
  }
  return [...traces].map(([code, { boxes = [] }]) => {
    const x = boxes.flatMap(({ x0, x1 }) => [x0, x1, x1, x0, x0]), y = boxes.flatMap(({ y0, y1 }) => [y0, y0, y1, y1, y0]);
    for (const { x0, y0 } of boxes.toReversed()) { x.push(x0); y.push(y0); }
    return { type: "scatter", mode: "none", fill: "toself", fillcolor: colours[code], line: { simplify: false }, x, y,
      yaxis: run.yaxis, xaxis: "x", meta: "jobs", hoverinfo: "skip", showlegend: false };
  });
}

// Lines between groups.
function groupLines(run, colour) {
  const line = { color: colour, width: 1 };
  return (run.groups?.rows || []).map(({ low }) => ({ type: "line", xref: "paper", yref: run.yaxis, x0: 0, x1: 1, y0: low, y1: low, line, layer: "below", name: "groups" }));
}
