// The whole chart, small, under a chart that shows a part of it: its still picture, on which the window is dragged along.
"use strict";

class GanttMap {
  constructor(tool, pictures) {
    this.tool = tool;
    this.window = element("div");
    this.box = element("div", { className: "map", title: "all of it: drag the window along" }, ...pictures, this.window);
    tool.chart.after(this.box);
    tool.chart.on("gantt_drawn", () => this.place());
    tool.chart.on("plotly_relayout", () => this.place());
    this.box.addEventListener("pointerdown", event => {
      const at = this.at(event), { start, end } = this.view();
      this.grip = at > start && at < end ? at - start : (end - start) / 2;
      this.move(at);
      this.box.setPointerCapture(event.pointerId);
    });
    this.box.addEventListener("pointermove", event => { if (this.grip !== undefined) this.move(this.at(event)); });
    for (const ended of ["pointerup", "pointercancel"]) this.box.addEventListener(ended, () => { this.grip = undefined; });
    this.place();
  }

  // The window, and the place under the pointer, as shares of the whole.
  view() {
    const [from, to] = this.tool.whole, { start, end } = this.tool.view(), share = each => (this.tool.time.place(each) - from) / (to - from);
    return { start: share(start), end: share(end) };
  }

  at(event) {
    const { left, width } = this.box.getBoundingClientRect();
    return (event.clientX - left) / width;
  }

  place() {
    const { xaxis } = this.tool.chart._fullLayout, { start, end } = this.view(), percent = share => `${100 * Math.min(1, Math.max(0, share))}%`;
    this.box.style.cssText = `margin-left: ${xaxis._offset}px; width: ${xaxis._length}px`;
    this.window.style.cssText = `left: ${percent(start)}; right: ${percent(1 - end)}`;
    this.box.classList.toggle("whole", start < 0.01 && end > 0.99);
    this.box.classList.toggle("plain", this.tool.colouring > 0);  // its colours are those of the first choice
  }

  // Let the window follow the pointer, at most sixty times a second.
  move(at) {
    this.wanted = at - this.grip;
    this.due ||= setTimeout(() => {
      const [from, to] = this.tool.whole, { start, end } = this.view();
      const begin = Math.min(1 - (end - start), Math.max(0, this.wanted));
      const [left, right] = [begin, begin + end - start].map(share => this.tool.time.seconds(from + share * (to - from)));
      this.tool.zoom(left, right).then(() => { this.due = null; });
    }, 16);
  }
}
