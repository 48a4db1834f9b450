// A brush: drag a rectangle over rows, or over the curves for all rows, and the table and the words beside it are of the jobs in it.
"use strict";
const LEAST_DRAG_PX = 4;

class GanttBrush {
  constructor(tool) {
    this.tool = tool;
    this.box = null;  // what is selected: start, end (s), low, high (rows)
    this.area = element("div");
    this.cover = element("div", { className: "brush", hidden: true }, this.area);
    this.button = element("input", { type: "checkbox", name: "brush" });
    this.button.addEventListener("change", () => this.turn(this.button.checked));
    tool.chart.append(this.cover);
    this.cover.addEventListener("pointerdown", event => { this.from = event; this.cover.setPointerCapture(event.pointerId); });
    this.cover.addEventListener("pointermove", event => { if (this.from) this.show(event); });
    this.cover.addEventListener("pointerup", event => { if (this.from) this.select(this.from, event); this.from = null; });
  }

  turn(on) {
    this.button.checked = on;
    this.cover.hidden = !on;
    this.place();
    if (!on) this.clear();
  }

  place() {
    const { l, t, w, h } = this.tool.chart._fullLayout._size;
    this.cover.style.cssText = `left: ${l}px; top: ${t}px; width: ${w}px; height: ${h}px`;
    this.area.style.cssText = "width: 0";
  }

  show(event) {
    const { left, top } = this.cover.getBoundingClientRect(), [x, y] = [this.from, event].map(each => each.clientX - left).sort((a, b) => a - b);
    const [low, high] = [this.from, event].map(each => each.clientY - top).sort((a, b) => a - b);
    this.area.style.cssText = `left: ${x}px; top: ${low}px; width: ${y - x}px; height: ${high - low}px`;
  }

  select(from, to) {
    this.area.style.cssText = "width: 0";
    if (Math.hypot(to.clientX - from.clientX, to.clientY - from.clientY) < LEAST_DRAG_PX) return this.clear();
    const { tool } = this, [a, b] = [from, to].map(event => this.at(event)), run = a.run;
    const [start, end] = [a.time, b.time].sort((one, other) => one - other);
    const ends = run ? [a.height, b.height].sort((one, other) => one - other) : [-Infinity, Infinity];
    this.box = { start, end, low: ends[0], high: ends[1], yaxis: run?.yaxis };
    return this.apply();
  }

  // Time, run and height under the pointer; beyond the rows in which the brush began, their edge.
  at({ clientX, clientY }) {
    const { tool } = this, { left, top } = tool.chart.getBoundingClientRect(), { xaxis, ...full } = tool.chart._fullLayout;
    const time = tool.time.seconds(xaxis.p2l(Math.min(xaxis._length, Math.max(0, clientX - left - xaxis._offset))));
    const began = this.from && this.from.clientY - top;
    const run = tool.runs.find(({ yaxis }) => { const axis = full[yaxis.replace("y", "yaxis")]; return began >= axis._offset && began <= axis._offset + axis._length; });
    const axis = run && full[run.yaxis.replace("y", "yaxis")];
    return { time, run, height: axis && axis.p2l(Math.min(axis._length, Math.max(0, clientY - top - axis._offset))) };
  }

  clear() {
    if (!this.box) return;
    this.box = null;
    return this.apply();
  }

  apply() {
    this.tool.fill();
    return Plotly.relayout(this.tool.chart, { shapes: this.tool.layout.shapes = this.tool.allShapes() });
  }

  // Those of a run's rows that have a rectangle in the selection.
  kept(run, rows) {
    if (!this.box) return rows;
    const own = new Set(Array.from(run.within(this.box), i => run.rectangles.owner[i]));
    return rows.filter(row => own.has(row));
  }

  marks() {
    if (!this.box) return [];
    const { start, end, low, high, yaxis } = this.box, [x0, x1] = [start, end].map(each => this.tool.time.place(each));
    const rows = yaxis ? { yref: yaxis, y0: low, y1: high } : { yref: "paper", y0: 0, y1: 1 };
    return [{ type: "rect", xref: "x", x0, x1, ...rows, name: "brush", line: { color: this.tool.ink, width: 1.5, dash: "dash" } }];
  }
}
