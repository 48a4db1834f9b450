// A curve of more steps than are drawn at once: its very steps where few are in view, else means over equal parts of what is in
// view, with the band of their range. As analysis/figures/timelines.py draws those of the whole run.
"use strict";
const MOST_DRAWN = 5000, PARTS = 1500, OF_MEANS = ", mean of ";

class Curve {
  constructor({ uid, later }, traces, time) {
    Object.assign(this, { later, time });
    [this.line, ...this.band] = ["", " low", " high"].map(part => traces.find(trace => trace.uid === uid + part));
    const { name, hovertemplate } = this.line, [own, mean] = name.split(OF_MEANS);
    this.named = length => length ? `${own}${OF_MEANS}${length}` : own;
    this.said = length => hovertemplate.replace(OF_MEANS + mean, length ? OF_MEANS + length : "");
  }

  // How many of the steps begin by a time.
  begun(time) {
    const times = this.later.time;
    let low = 0, high = times.length;
    while (low < high) { const middle = (low + high) >> 1; if (times[middle] <= time) low = middle + 1; else high = middle; }
    return low;
  }

  // Draw it from start to end, s.
  draw(start, end) {
    const first = Math.max(0, this.begun(start) - 1), stop = this.begun(end);
    const few = stop - first <= MOST_DRAWN, { x, rows, length } = few ? this.steps(first, stop, end) : this.means(start, end);
    const places = Float64Array.from(x, each => this.time.place(each));
    Object.assign(this.line, { x: places, y: rows[0], name: this.named(length), hovertemplate: this.said(length) });
    if (this.line.text) this.line.text = Array.from(x, moment);
    this.band.forEach((trace, side) => Object.assign(trace, few ? { x: [], y: [] } : { x: places, y: rows[side + 1] }));
  }

  steps(first, stop, end) {
    const { time, value } = this.later, x = Array.from(time.subarray(first, stop)), y = Array.from(value.subarray(first, stop));
    if (stop && stop < time.length) { x.push(end); y.push(y.at(-1)); }  // what holds at the end of the view goes on
    return { x, rows: [y] };
  }

  means(from, to) {
    const { time, value } = this.later, start = Math.max(from, time[0]), end = Math.min(to, time.at(-1)), wide = (to - from) / PARTS;
    const inner = Array.from({ length: PARTS + 1 }, (_, part) => from + part * wide).filter(each => each > start && each < end);
    const x = [start, ...inner, end], parts = x.length - 1;
    const rows = [0, Infinity, -Infinity].map(value => new Float64Array(parts + 1).fill(value)), [mean, low, high] = rows;
    for (let part = 0, step = this.begun(start) - 1; part < parts; part++) {
      const stop = x[part + 1];
      for (let since = x[part]; since < stop; ) {
        const until = step + 1 < time.length ? Math.min(time[step + 1], stop) : stop;
        mean[part] += value[step] * (until - since) / (stop - x[part]);
        if (until > since) { low[part] = Math.min(low[part], value[step]); high[part] = Math.max(high[part], value[step]); }
        since = until;
        if (until < stop || time[step + 1] === stop) step++;
      }
    }
    for (const row of rows) row[parts] = row[parts - 1];
    return { x, rows, length: lasting(wide) };
  }
}

// Which curves are means, and of what: as means_note of analysis/gantt_chart/layout.py says.
function meansNote(traces) {
  const means = new Map();
  for (const { name } of traces) {
    const [own, each] = String(name || "").split(OF_MEANS);
    if (each) means.set(each, [...new Set([...means.get(each) || [], own])]);
  }
  const listed = names => names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return [...means].map(([each, names]) => `${listed(names)} of ${each}`).join(", ");
}
