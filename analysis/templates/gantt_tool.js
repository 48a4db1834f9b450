// A Gantt chart as a tool: which jobs a reader keeps, chooses and has explained, in chart and table.
"use strict";
const FEW_JOBS = 20000, STILL_MS = 400;

class GanttTool extends GanttView {
  constructor(...of) {
    super(...of);
    Object.assign(this, { wanted: {}, text: "" });
  }

  async begin(config) {
    this.brush = new GanttBrush(this);
    ganttControls(this);
    const { data, layout } = this.fitted();
    await Plotly.newPlot(this.chart, data, layout, config);
    const still = this.chart.querySelector(".still"), pictures = still?.querySelectorAll(".rows svg") || [];
    if (pictures.length && !layout.xaxis.rangeslider?.visible) this.map = new GanttMap(this, pictures);
    still?.remove();
    await new Promise(done => setTimeout(done, 100));  // the picture first, on the screen
    if (this.run.count <= FEW_JOBS) this.fill();
    else this.fillWhenSeen();
    this.told = this.ranges();
    listen(this);
    GanttTool.all.push(this);
    clusterSim.drawn.push(this);
    followAddress(this);
  }

  // ---------------------------------------------------------------- the table

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

  // The jobs that the filters leave, in the table.
  fill() {
    this.filled = true;
    const { start, end } = this.chart._fullLayout ? this.view() : {}, window = this.inView.checked ? [start, end] : null;
    for (const run of this.runs) run.listed = this.brush.kept(run, run.keep(this.wanted, this.text, window));
    const { run } = this;
    this.said.textContent = this.counted = run.listed.length < run.count ? `${short(run.listed.length)} of ${countedJobs(run.count)}` : countedJobs(run.count);
    this.table.show(run.listed);
    this.explain();
  }

  // ---------------------------------------------------------------- filters

  // Show the last days in chart and table; 0: everything.
  async last(days) {
    const ends = this.runs.map(run => run.rectangles.end.reduce((last, each) => Math.max(last, each), -Infinity)), end = Math.max(...ends);
    this.inView.checked = days > 0;
    await (days ? this.zoom(end - days * DAY, end) : this.reset());
    this.fill();
  }

  // Fold and unfold groups of nodes, in all runs alike: (folded, place) -> folded.
  fold(wanted) {
    for (const { groups } of this.runs) groups?.fold(wanted);
    putAddress(this);
    return this.draw();
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
    putAddress(this);
    return this.draw();
  }

  group(name) {
    this.table.by = this.groups.value = name;
    this.fill();
    putAddress(this);
  }

  // A job of that id, else the jobs in which the text occurs.
  find(text) {
    const exact = text && this.run.row(text) !== undefined;
    const before = this.text;
    this.text = exact ? "" : text;
    if (this.text !== before) this.refilter();
    if (exact || !text) return this.choose(text || null, true);
  }

  // As it is now, on white.
  picture(format) {
    this.ground(false);
    const size = { width: this.chart.clientWidth, height: this.layout.height, scale: format === "png" ? 2 : 1 };
    const data = this.data().map(trace => ({ ...trace }));
    const made = Plotly.downloadImage({ data, layout: this.layout }, { format, filename: "gantt", ...size });
    this.turn(clusterSim.isDark());
    return made;
  }

  clear() {
    this.search.value = this.text = "";
    this.wanted = {};
    this.brush.turn(false);
    for (const select of Object.values(this.selects)) select.value = "*";
    this.choose(null);
    return this.refilter();
  }

  // ---------------------------------------------------------------- a job

  // Choose a job by its id; null lets go. With show the window moves to where it is.
  async choose(id, show = false) {
    this.fillOnce();
    this.chosen = id;
    const { run } = this, row = id === null ? undefined : run.row(id);
    this.said.textContent = id !== null && row === undefined ? `no job ${id}` : this.counted;
    if (row === undefined) this.chosen = null;
    this.table.mark(row);
    this.explain();
    await Plotly.relayout(this.chart, { shapes: this.layout.shapes = this.allShapes() });
    if (show && row !== undefined) await this.showJob(run, row);
    putAddress(this);
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
        : toldOfJobs(run, run.listed, by, filtered.join(", ") || (this.text ? `“${this.text}”` : this.brush.box ? "Selected" : "All of these jobs"));
      return this.runs.length > 1 ? [element("h4", { textContent: run.name }), ...told] : told;
    });
    this.aside.replaceChildren(...parts);
  }

  // By what those are told apart who held the machine: what is grouped by, else users.
  heldBy() {
    const texts = Object.keys(this.run.texts);
    return this.table.by || ["user", "account", "group", "queue", "partition", "profile", "state"].find(name => texts.includes(name)) || "job_id";
  }
}
GanttTool.all = [];
GanttTool.used = null;
