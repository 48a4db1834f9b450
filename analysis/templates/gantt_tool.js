// A Gantt chart as a tool: zoom by wheel and keys, colours and filters, a table, a job's explanation, addresses to send.
"use strict";
const MOST_MARKS = 300, FEW_JOBS = 20000, STILL_MS = 400;
const KEYS = "wheel or w, s: zoom · drag: a part · a, d: along · double click or 0: all · /: search · Esc: let go";

class GanttTool {
  constructor(chart, figure, tool) {
    delete figure.layout.meta.tool;
    const { time, layers, colourings, fixed, curves = [] } = tool;
    Object.assign(this, { chart, colourings, fixed, colouring: 0, wanted: {}, text: "", chosen: null });
    this.time = new Time(time);
    this.runs = layers.map(layer => new Run(layer, this.time));
    this.run = this.runs.at(-1);  // whose jobs the table has: what differs from the first run is told of the others
    this.dark = clusterSim.isDark();
    this.paper = this.dark ? "#15191d" : "#ffffff";
    this.ink = this.dark ? "#ffffff" : "#000000";
    this.dim = this.dark ? "#2b333a" : "#e6eaed";
    this.original = figure;
    this.others = this.dark ? figure.data.map(onDark) : figure.data;
    this.curves = curves.map(curve => new Curve(curve, this.others, this.time));
    this.differing = this.others.filter(trace => trace.meta === "differences").map(trace => [trace, { x: trace.x, y: trace.y }]);
    this.layout = clusterSim.onGround(figure.layout);
    this.layout.margin.r = Math.max(this.layout.margin.r, 185);
    this.whole = structuredClone(this.layout.xaxis.range);
    this.shapes = this.layout.shapes || [];
  }

  async begin(config) {
    this.controls();
    await Plotly.newPlot(this.chart, this.data(), this.layout, config);
    await new Promise(done => setTimeout(done, 100));  // the picture first, on the screen
    if (this.run.count <= FEW_JOBS) this.fill();
    else this.fillWhenSeen();
    this.told = this.ranges();
    this.listen();
    GanttTool.all.push(this);
    this.follow();
  }

  // Of a million jobs the table takes a second: it is filled once its place is near the view and the chart has stood still
  // for a while, before the page is printed, or at once when a filter, a choice or an address asks for it.
  fillWhenSeen() {
    const watch = new IntersectionObserver(entries => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      watch.disconnect();
      this.seen = true;
      this.fillWhenStill();
    }, { rootMargin: "100px" });
    watch.observe(this.table.box);
    addEventListener("beforeprint", () => this.fillOnce());
  }

  fillWhenStill() {
    if (this.filled || !this.seen) return;
    clearTimeout(this.still);
    this.still = setTimeout(() => this.fillOnce(), STILL_MS);
  }

  fillOnce() { if (!this.filled) this.fill(); }

  // ---------------------------------------------------------------- drawing

  axis(run) { return this.layout[run.yaxis.replace("y", "yaxis")]; }

  // The window in seconds, and of a run its rows and pixels.
  view(run) {
    const full = this.chart._fullLayout, { margin, height } = this.layout;
    const range = full ? full.xaxis.range.map(each => full.xaxis.r2l(each)) : this.layout.xaxis.range;
    const [start, end] = range.map(place => this.time.seconds(place));
    if (!run) return { start, end };
    const axis = this.axis(run), [a, b] = full ? full[run.yaxis.replace("y", "yaxis")].range : axis.range;
    const width = full ? full.xaxis._length : Math.max(300, this.chart.clientWidth - margin.l - margin.r);
    const tall = (axis.domain[1] - axis.domain[0]) * (height - margin.t - margin.b);
    return { start, end, low: Math.min(a, b), high: Math.max(a, b), width, height: tall };
  }

  data() {
    const colouring = this.colourings[this.colouring];
    if (this.layout.meta?.elapsed) {
      const { start, end } = this.view(), { places, texts } = roundTicks(start, end, 9);
      for (const name of Object.keys(this.layout).filter(each => /^xaxis\d*$/.test(each)))
        Object.assign(this.layout[name], { tickvals: places, ticktext: texts });
    }
    this.thin();
    this.refine();
    const data = [...this.others];
    [...this.runs.entries()].reverse().forEach(([place, run]) => {
      const view = this.view(run);
      Object.assign(this.axis(run), { tickmode: "array" }, rowTicks(run, view));
      if (this.fixed) return;
      const { traces, how, count } = jobTraces(run, colouring, colouring.later.codes[place], view, this);
      this.drawn = { how, count };
      data.splice(run.at, 0, ...traces);
    });
    this.layout.shapes = [...this.shapes, ...this.marks()];
    if (!this.fixed) this.layout.legend.y = colouring.legend.some(each => each.marker.showscale) ? 0.45 : 1;
    return this.fixed ? data : [...data, ...colouring.legend.map(each => ({ ...each, yaxis: this.runs[0].yaxis }))];
  }

  // Curves of many steps as they are in view; the line under the heading says of what they are means then.
  refine() {
    if (!this.curves.length) return;
    const { start, end } = this.view(), { subtitle } = this.layout.title, note = " · means, shaded from least to greatest: ";
    for (const curve of this.curves) curve.draw(start, end);
    const means = meansNote(this.others);
    this.layout.title = { ...this.layout.title, subtitle: { ...subtitle, text: subtitle.text.split(note)[0] + (means && note + means) } };
  }

  // Marks of what differs from the first run, where there are few enough in view to be told apart.
  thin() {
    const { start, end } = this.view(), low = this.time.place(start), high = this.time.place(end);
    for (const [trace, { x, y }] of this.differing) {
      const few = Array.from(x).filter(each => each >= low && each <= high).length <= MOST_MARKS;
      Object.assign(trace, few ? { x, y } : { x: [], y: [] });
    }
  }

  ranges() {
    return JSON.stringify([this.chart._fullLayout.xaxis.range, this.runs.map(run => [this.view(run).low, this.view(run).high])]);
  }

  async draw() {
    this.told = this.ranges();
    await Plotly.react(this.chart, this.data(), this.layout);
    this.chart.emit("gantt_drawn");
    this.fillWhenStill();
  }

  // After whatever zoomed: draw what is in view now, once.
  later() {
    this.fillWhenStill();
    clearTimeout(this.due);
    this.due = setTimeout(() => {
      if (this.ranges() === this.told) return;
      this.draw();
      if (this.inView.checked) this.fill();
      this.address();
    }, 40);
  }

  async zoom(start, end) {
    this.layout.xaxis.range = [start, end].map(each => this.time.place(each));
    this.layout.xaxis.autorange = false;
    await Plotly.relayout(this.chart, { "xaxis.range": this.layout.xaxis.range });
    this.later();
  }

  // Zoom by a factor about a time, or go along by a part of the window.
  scale(factor, about) {
    const { start, end } = this.view(), middle = about ?? (start + end) / 2;
    return this.zoom(middle + (start - middle) * factor, middle + (end - middle) * factor);
  }

  along(part) {
    const { start, end } = this.view(), by = part * (end - start);
    return this.zoom(start + by, end + by);
  }

  // ---------------------------------------------------------------- a job

  // The chosen job: its pieces, lines from each to the next, and its wait.
  marks(id = this.chosen) {
    if (id === null) return [];
    return this.runs.flatMap(run => {
      const row = run.row(id);
      if (row === undefined) return [];
      const boxes = run.boxes(row).slice(0, 400), place = each => run.time.place(each);
      const look = { xref: "x", yref: run.yaxis, name: "chosen" }, line = { color: this.ink, width: 2.5 };
      const marks = boxes.map(box => ({ ...look, type: "rect", x0: place(box.x0), x1: place(box.x1), y0: box.y0, y1: box.y1, line }));
      const pieces = [...new Set(boxes.map(box => box.x0))].map(start => boxes.filter(box => box.x0 === start));
      const middle = piece => (Math.min(...piece.map(box => box.y0)) + Math.max(...piece.map(box => box.y1))) / 2;
      const dots = (x0, x1, y0, y1) => ({ ...look, type: "line", x0: place(x0), x1: place(x1), y0, y1, line: { ...line, width: 1.5, dash: "dot" } });
      pieces.slice(1).forEach((piece, before) => {
        const last = pieces[before];
        if (piece[0].x0 > last[0].x1) marks.push(dots(last[0].x1, piece[0].x0, middle(last), middle(piece)));
      });
      const submit = run.numbers.submit_time[row];
      if (pieces.length && submit < pieces[0][0].x0) marks.push(dots(submit, pieces[0][0].x0, middle(pieces[0]), middle(pieces[0])));
      return marks;
    });
  }

  // Choose a job by its id; null lets go. With show the window moves to where it is.
  async choose(id, show = false) {
    this.fillOnce();
    this.chosen = id;
    const { run } = this, row = id === null ? undefined : run.row(id);
    this.said.textContent = id !== null && row === undefined ? `no job ${id}` : this.counted;
    if (row === undefined) this.chosen = null;
    this.table.mark(row);
    this.explain();
    await Plotly.relayout(this.chart, { shapes: this.layout.shapes = [...this.shapes, ...this.marks()] });
    if (show && row !== undefined) await this.showJob(run, row);
    this.address();
  }

  async showJob(run, row) {
    const { start, end } = this.view(), { submit_time: submit, start_time: began, finish_time: finish } = run.numbers;
    const from = submit[row], to = finish[row] === finish[row] ? finish[row] : began[row] === began[row] ? began[row] : from;
    const inside = from >= start && to <= end && (to - from) * 40 > end - start;
    if (!inside) await this.zoom(from - 0.5 * Math.max(to - from, 1), to + 0.5 * Math.max(to - from, 1));
  }

  explain() {
    const by = this.heldBy();
    const parts = this.runs.flatMap(run => {
      const row = this.chosen === null ? undefined : run.row(this.chosen);
      const link = other => {
        const made = element("a", { href: "#", textContent: `job ${run.id(other)}` });
        made.addEventListener("click", event => { event.preventDefault(); this.choose(run.id(other), true); });
        return made;
      };
      const filtered = Object.entries(this.wanted).filter(([name]) => name in run.texts).map(([name, value]) => `${TITLES[name]} ${value || "–"}`);
      const told = row !== undefined ? toldOfJob(run, row, by, link)
        : toldOfJobs(run, run.listed, by, filtered.join(", ") || (this.text ? `“${this.text}”` : "All of these jobs"));
      return this.runs.length > 1 ? [element("h4", { textContent: run.name }), ...told] : told;
    });
    this.aside.replaceChildren(...parts);
  }

  // By what those are told apart who held the machine: what is grouped by, else users.
  heldBy() {
    const texts = Object.keys(this.run.texts);
    return this.table.by || ["user", "account", "group", "queue", "partition", "profile", "state"].find(name => texts.includes(name)) || "job_id";
  }

  // ---------------------------------------------------------------- controls

  controls() {
    const { run, chart } = this;
    this.table = new JobTable(run, row => this.choose(run.id(row), true), (name, value) => this.filter(name, value));
    this.search = element("input", { type: "search", placeholder: "job id, or any text" });
    this.search.addEventListener("change", () => this.find(this.search.value.trim()));
    this.selects = Object.fromEntries(Object.keys(run.texts).filter(name => name !== "job_id").flatMap(name => {
      const { names, counts } = run.values(name);
      if (names.length < 2) return [];
      const order = names.map((_, place) => place).sort((a, b) => byNumberOrName(names[a], names[b])).slice(0, 2000);
      const select = element("select", { name }, new Option("all", "*"),
        ...order.map(place => new Option(`${names[place] || "–"} (${short(counts[place])})`, names[place])));
      select.addEventListener("change", () => this.filter(name, select.value === "*" ? null : select.value));
      return [[name, select]];
    }));
    this.colours = element("select", { name: "colour" }, ...this.colourings.map((each, place) =>
      new Option(place ? each.name.replace(/_/g, " ") : each.title.toLowerCase() || each.name, place)));
    this.colours.addEventListener("change", () => { this.colouring = Number(this.colours.value); this.draw(); this.address(); });
    this.groups = element("select", { name: "by" }, new Option("each job", ""), ...Object.keys(this.selects).map(name => new Option(`by ${TITLES[name]}`, name)));
    this.groups.addEventListener("change", () => this.group(this.groups.value));
    this.inView = element("input", { type: "checkbox", name: "view" });
    this.inView.addEventListener("change", () => { this.fill(); this.address(); });
    this.spans = element("select", { name: "span" }, new Option("all", 0), ...this.lastDays().map(([days, name]) => new Option(name, days)));
    this.spans.addEventListener("change", () => this.last(Number(this.spans.value)));
    this.said = element("output");
    const label = (text, control) => element("label", {}, `${text} `, control);
    const picture = format => {
      const button = element("button", { type: "button", textContent: format.toUpperCase(), title: "the chart as it is now, on white" });
      button.addEventListener("click", () => this.picture(format));
      return button;
    };
    chart.before(this.bar = element("div", { className: "controls" }, label("Find", this.search),
      ...(this.spans.length > 1 ? [label("Time", this.spans)] : []),
      ...(this.fixed ? [] : [label("Colour", this.colours)]), ...Object.entries(this.selects).map(([name, select]) => label(TITLES[name], select)),
      picture("svg"), picture("png"), element("small", { textContent: KEYS })));
    this.aside = element("aside");
    this.hint = element("div", { className: "hint", hidden: true });
    chart.after(element("div", { className: "controls" }, label("Table of", this.groups), label("only jobs in the chart's window", this.inView), this.said),
      element("div", { className: "tool" }, this.table.box, this.aside));
    document.body.append(this.hint);
  }

  // The ends of a run that is longer than they are: days, and their names.
  lastDays() {
    const [start, end] = this.whole.map(each => this.time.seconds(each));
    return [[1, "last day"], [7, "last 7 days"], [30, "last 30 days"]].filter(([days]) => days * DAY < 0.9 * (end - start));
  }

  // Show the last days in chart and table; 0: everything.
  async last(days) {
    const ends = this.runs.map(run => run.rectangles.end.reduce((last, each) => Math.max(last, each), -Infinity)), end = Math.max(...ends);
    this.inView.checked = days > 0;
    await (days ? this.zoom(end - days * DAY, end) : this.reset());
    this.fill();
  }

  // The jobs that the filters leave, in the table.
  fill() {
    this.filled = true;
    const { start, end } = this.chart._fullLayout ? this.view() : {}, window = this.inView.checked ? [start, end] : null;
    for (const run of this.runs) run.listed = run.keep(this.wanted, this.text, window);
    const { run } = this;
    this.said.textContent = this.counted = run.listed.length < run.count ? `${short(run.listed.length)} of ${short(run.count)} jobs` : `${short(run.count)} jobs`;
    this.table.show(run.listed);
    this.explain();
  }

  filter(name, value) {
    if (value === null) delete this.wanted[name];
    else this.wanted[name] = value;
    if (this.selects[name]) this.selects[name].value = value ?? "*";
    if (value !== null && this.table.by === name) this.table.by = this.groups.value = "";
    return this.refilter();
  }

  refilter() {
    this.fill();
    this.address();
    return this.draw();
  }

  group(name) {
    this.table.by = this.groups.value = name;
    this.fill();
    this.address();
  }

  // A job of that id, else the jobs in which the text occurs.
  find(text) {
    const exact = text && this.run.row(text) !== undefined;
    const before = this.text;
    this.text = exact ? "" : text;
    if (this.text !== before) this.refilter();
    if (exact || !text) return this.choose(text || null, true);
  }

  picture(format) {
    const { data } = this.chart, layout = { ...structuredClone(this.original.layout), shapes: this.layout.shapes, xaxis: { ...this.original.layout.xaxis, range: this.layout.xaxis.range } };
    return Plotly.downloadImage({ data, layout }, { format, filename: "gantt", width: this.chart.clientWidth, height: layout.height, scale: format === "png" ? 2 : 1 });
  }

  // ---------------------------------------------------------------- mouse and keys

  // What is under the mouse: the run, the time and the height.
  under(event) {
    const box = this.chart.getBoundingClientRect(), { xaxis, ...full } = this.chart._fullLayout;
    const x = event.clientX - box.left - xaxis._offset, y = event.clientY - box.top;
    if (x < 0 || x > xaxis._length) return null;
    const time = this.time.seconds(xaxis.p2l(x));
    for (const run of this.runs) {
      const axis = full[run.yaxis.replace("y", "yaxis")];
      if (y >= axis._offset && y <= axis._offset + axis._length) return { run, time, height: axis.p2l(y - axis._offset) };
    }
    return { time };
  }

  listen() {
    const { chart } = this;
    chart.on("plotly_relayout", () => this.later());
    chart.on("plotly_hover", () => { this.busy = true; this.hint.hidden = true; });
    chart.on("plotly_unhover", () => { this.busy = false; });
    chart.on("plotly_legendclick", ({ curveNumber, fullData }) => {
      const trace = fullData[curveNumber], { names, name } = this.colourings[this.colouring];
      if (trace.meta !== "colours") return true;
      const column = name in this.run.texts ? name : null, value = names.find(each => escaped(each).startsWith(trace.name.replace(/…$/, "")));
      if (column) this.filter(column, this.wanted[column] === value ? null : value);
      return false;
    });
    chart.addEventListener("mousemove", event => this.hover(event));
    chart.addEventListener("mouseleave", () => { this.hint.hidden = true; });
    chart.addEventListener("wheel", event => {
      const at = event.target.closest(".draglayer, .nsewdrag") && this.under(event);
      if (!at || event.ctrlKey) return;
      event.preventDefault();
      this.turned = (this.turned || 1) * 1.0015 ** event.deltaY;
      this.turning ||= requestAnimationFrame(() => {
        const factor = this.turned;
        this.turned = 1;
        this.scale(factor, at.time).then(() => { this.turning = null; });
      });
    }, { passive: false });
    let pressed = null;
    chart.addEventListener("mousedown", event => { pressed = [event.clientX, event.clientY]; }, true);
    chart.addEventListener("click", event => {
      const at = event.target.closest(".nsewdrag") && this.under(event);
      if (!at?.run || !pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
      const i = at.run.hit(at.time, at.height);
      this.choose(i < 0 ? null : at.run.id(at.run.rectangles.owner[i]));
    });
    new ResizeObserver(() => this.later()).observe(chart);
  }

  hover(event) {
    GanttTool.used = this;
    if (this.fixed || event.buttons) return;
    const at = !this.busy && event.target.closest(".nsewdrag") && this.under(event), i = at?.run ? at.run.hit(at.time, at.height) : -1;
    this.hint.hidden = i < 0;
    if (i < 0) return;
    this.hint.replaceChildren(toldLines(at.run.lines(at.run.rectangles.owner[i], i)));
    const left = Math.min(event.clientX + 14, innerWidth - this.hint.offsetWidth - 8);
    const top = event.clientY + 16 + this.hint.offsetHeight > innerHeight ? event.clientY - this.hint.offsetHeight - 10 : event.clientY + 16;
    this.hint.style.cssText = `left: ${left}px; top: ${top}px`;
  }

  key(event) {
    const does = {
      w: () => this.scale(0.6), s: () => this.scale(1 / 0.6), a: () => this.along(-0.25), d: () => this.along(0.25),
      0: () => this.reset(), "/": () => this.search.focus(), Escape: () => this.clear(),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  }

  reset() {
    const [start, end] = this.whole.map(each => this.time.seconds(each));
    return this.zoom(start, end);
  }

  clear() {
    this.search.value = this.text = "";
    this.wanted = {};
    for (const select of Object.values(this.selects)) select.value = "*";
    this.choose(null);
    return this.refilter();
  }

  // ---------------------------------------------------------------- addresses

  // #job=557&t=0,86400&colour=user&user=ann: what is chosen, seen, coloured and kept.
  address() {
    const told = new URLSearchParams(), { start, end } = this.view(), places = [start, end].map(each => this.time.place(each));
    if (GanttTool.all.indexOf(this) > 0) told.set("chart", GanttTool.all.indexOf(this) + 1);
    if (this.chosen !== null) told.set("job", this.chosen);
    const step = (this.whole[1] - this.whole[0]) * 1e-6;
    if (places.some((place, side) => Math.abs(place - this.whole[side]) > step)) told.set("t", [start, end].map(each => +each.toPrecision(10)).join(","));
    if (this.colouring) told.set("colour", this.colourings[this.colouring].name);
    if (this.table.by) told.set("by", this.table.by);
    if (this.inView.checked) told.set("view", "only");
    if (this.text) told.set("text", this.text);
    for (const [name, value] of Object.entries(this.wanted)) told.set(name, value);
    const text = told.toString().replace(/%2C/g, ",");
    this.own = text ? `#${text}` : "";
    if (location.hash !== this.own) history.replaceState(null, "", this.own || location.pathname + location.search);
  }

  // Show what the address says.
  async follow() {
    if (!location.hash.includes("=") || location.hash === this.own) return;
    const told = new URLSearchParams(location.hash.slice(1));
    if ((Number(told.get("chart")) || 1) !== GanttTool.all.indexOf(this) + 1) return;
    const { run } = this, colouring = this.colourings.findIndex(each => each.name === told.get("colour"));
    if (colouring >= 0) this.colours.value = this.colouring = colouring;
    this.table.by = this.groups.value = told.get("by") in run.texts ? told.get("by") : "";
    this.inView.checked = told.get("view") === "only";
    this.search.value = this.text = told.get("text") || "";
    this.wanted = Object.fromEntries([...told].filter(([name]) => name in this.selects));
    for (const [name, value] of Object.entries(this.wanted)) this.selects[name].value = value;
    const job = told.get("job"), [start, end] = (told.get("t") || "").split(",").map(Number);
    for (const run of this.runs) run.listed = run.keep(this.wanted, this.text, null);
    await this.draw();
    if (start < end) await this.zoom(start, end);
    this.fill();
    if (job !== null) await this.choose(job, !(start < end));
    if (job !== null || start < end) this.bar.scrollIntoView({ block: "start" });
  }
}
GanttTool.all = [];
GanttTool.used = null;

addEventListener("hashchange", () => GanttTool.all.forEach(tool => tool.follow()));
document.addEventListener("keydown", event => {
  const tool = GanttTool.used || GanttTool.all[0];
  if (!tool || event.target.closest?.("input, select, textarea") && event.key !== "Escape") return;
  tool.key(event);
});
