// The picture of a Gantt chart: what of its runs is in view, light or dark, drawn anew after every zoom.
"use strict";
const BESIDE_PX = 64, LETTER_PX = 6.8, ENTRY_LETTERS = 22;  // room beside the names of rows, of each letter, and for the legend
const PAPER_ROOM_PX = 560, PAPER_RUN_PX = 140;  // height of a printed chart, so that it shares a page with what is before it
const CHAIN = "#d55e00", MOST_LINKED = 400, MOST_MARKS = 300, LEAST_REST_PX = 6;
// On dark ground the steps of a scale go from dark to light: what is most stands out from the ground.
const RAMP = ["#f4e61e", "#9ad83d", "#46bf70", "#21918c", "#2f6b8e", "#423f85", "#460b5e"];
const SEEN_ON_DARK = { ...Object.fromEntries(RAMP.map((each, place) => [each, RAMP.at(-1 - place)])), "#d3dbe2": "#3a434b", "#4a4a4a": "#8a949d" };

// Black or white on a colour, whichever contrasts more: as palette.py has it.
const inkOn = colour => {
  const channels = [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16));
  const [red, green, blue] = channels.map(each => each <= 10 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#FFFFFF";
};

// How many jobs are drawn in their colours, of how many that ran.
const countOf = run => {
  const { jobs } = run.drawn, all = run.ran();
  return jobs === all ? countedJobs(all) : `${short(jobs)} of ${countedJobs(all)}`;
};
const shadesNote = ({ drawn: { how, count } }) => how === "asShades" &&
  `${short(count)} rectangles, shown together: a shade is the colour of the jobs that hold most of its place, paler where less is held; zoom in for single jobs`;

class GanttView {
  constructor(chart, figure, tool) {
    delete figure.layout.meta.tool;
    const { time, layers, colourings, fixed, notes = [], curves = [] } = tool;
    Object.assign(this, { chart, given: colourings, fixed, notes, colouring: 0, chosen: null, calm: true });
    this.time = new Time(time);
    this.runs = layers.map(layer => new Run(layer, this.time));
    this.run = this.runs.at(-1);  // whose jobs the table has: what differs from the first run is told of the others
    this.original = figure;
    this.others = figure.data.map(trace => ({ ...trace }));
    this.curves = curves.map(curve => new Curve(curve, this.others, this.time));
    this.differing = this.others.filter(trace => trace.meta === "differences").map(trace => [trace, { x: trace.x, y: trace.y, name: trace.name }]);
    this.layout = figure.layout;
    this.layout.margin.r = Math.max(this.layout.margin.r, 185);
    const longest = Math.max(...this.runs.map(run => [...run.nodes, ...run.groups?.rows.map(({ name }) => `▸ ${name}`) || []].reduce((most, name) => Math.max(most, name.length), 0)));
    this.layout.margin.l = Math.max(this.layout.margin.l, BESIDE_PX + LETTER_PX * longest);
    this.ground(clusterSim.isDark());
    this.whole = structuredClone(this.layout.xaxis.range);
    this.shapes = (this.layout.shapes || []).filter(({ name }) => name !== "groups");
  }

  // What colours everything has, on dark or on light ground.
  ground(dark) {
    this.paper = dark ? "#15191d" : "#ffffff";
    this.ink = dark ? "#ffffff" : "#000000";
    this.dim = dark ? "#2b333a" : "#e6eaed";
    this.layout = clusterSim.onGround(this.layout, dark);
    if (this.shapes) this.shapes = clusterSim.onGround(this.shapes, dark);
    this.others.forEach((trace, place) => {
      const given = this.original.data[place], turned = dark ? onDark(given) : given;
      for (const part of ["line", "marker", "fillpattern"]) if (given[part]) trace[part] = turned[part];
    });
    this.colourings = (dark ? clusterSim.recoloured(this.given, SEEN_ON_DARK) : this.given).map(each =>
      ({ ...each, lines: each.colours.map(colour => mixed(colour, "#000000", 0.35)), inks: each.colours.map(inkOn) }));
  }

  // Draw it at once on the other ground: for paper, and back.
  turn(dark, width) {
    this.ground(dark);
    this.tall ??= this.layout.height;
    const height = width && !this.run.byJob ? Math.min(this.tall, PAPER_ROOM_PX + PAPER_RUN_PX * this.runs.length) : this.tall;
    Object.assign(this.layout, { width, height, autosize: !width });
    this.chart.style.height = `${height}px`;
    if (this.map) clusterSim.still(this.map.box, dark);
    return this.draw();
  }

  // Traces and layout as the chart's place has room for them.
  fitted() {
    const data = this.data(), entries = data.filter(trace => trace.showlegend !== false && trace.name);
    // Where the legend has room, plotly need not measure everything and draw it twice.
    this.layout.margin.autoexpand = isNarrow(this.chart) || entries.some(({ name }) => plain(name).length > ENTRY_LETTERS);
    const found = fitted(this.chart, data, this.layout);
    this.shown = found.layout;
    return found;
  }

  axis(run) { return this.layout[run.yaxis.replace("y", "yaxis")]; }

  // The window in seconds, and of a run its rows and pixels.
  view(run) {
    const full = this.chart._fullLayout, { margin, height } = this.shown || this.layout;
    const range = full && !this.asked ? full.xaxis.range.map(each => full.xaxis.r2l(each)) : this.asked || this.layout.xaxis.range;
    const [start, end] = range.map(place => this.time.seconds(place));
    if (!run) return { start, end };
    const axis = this.axis(run), [a, b] = full ? full[run.yaxis.replace("y", "yaxis")].range : axis.range;
    const width = full ? full.xaxis._length : Math.max(300, this.chart.clientWidth - margin.l - margin.r);
    const [bottom, top] = axis.domain || [0, 1], tall = (top - bottom) * (height - margin.t - margin.b);
    return { start, end, low: Math.min(a, b), high: Math.max(a, b), width, height: tall };
  }

  // All of a run as a slider shows it, if there is one.
  copied(run, { width }) {
    const { xaxis: { rangeslider }, height, margin } = this.layout;
    if (!rangeslider?.visible) return null;
    const [start, end] = this.whole.map(each => this.time.seconds(each)), tall = rangeslider.thickness * (height - margin.t - margin.b);
    return { start, end, low: run.edge[0], high: run.edge.at(-1), width, height: tall };
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
    const data = this.others.map(trace => this.fixed ? trace : this.runs.reduce((moved, { groups }) => groups ? groups.movedTrace(moved) : moved, trace));
    [...this.runs.entries()].reverse().forEach(([place, run]) => {
      const view = this.view(run);
      Object.assign(this.axis(run), { tickmode: "array", automargin: isNarrow(this.chart) }, rowTicks(run, view, isNarrow(this.chart) ? withoutPrefix(run.nodes) : run.nodes));
      if (this.fixed) return;
      const { traces, how, count, jobs } = jobTraces(run, colouring, colouring.later.codes[place], view, this, null, this.copied(run, view));
      this.drawn = run.drawn = { how, count, jobs };
      data.splice(run.at, 0, ...traces);
    });
    if (!this.fixed) this.caption();
    this.layout.shapes = this.allShapes();
    if (!this.fixed) this.layout.legend.y = colouring.legend.some(each => each.marker.showscale) ? 0.45 : 1;
    return this.fixed ? data : [...data, ...colouring.legend.map(each => ({ ...each, yaxis: this.runs[0].yaxis }))];
  }

  // Curves of many steps as they are in view.
  refine() {
    const { start, end } = this.view();
    for (const curve of this.curves) curve.draw(start, end);
  }

  // The line under the heading, from what is drawn now: as put_head of analysis/gantt_chart/layout.py writes it.
  caption() {
    const { subtitle } = this.layout.title, means = meansNote(this.others), several = this.runs.length > 1;
    const counted = run => (several ? `${run.name}: ` : "") + [countOf(run), shadesNote(run)].filter(Boolean).join(", ");
    const parts = [...this.runs.map(counted), ...this.notes, means && `means, shaded from least to greatest: ${means}`];
    this.layout.title = { ...this.layout.title, subtitle: { ...subtitle, text: escaped(parts.filter(Boolean).join(" · ")) } };
  }

  // Marks of what differs from the first run, where there are few enough of a run in view to be told apart: all kinds of
  // them or none, lest the rarer one is taken for all. A trace without any place would leave the legend.
  thin() {
    const { start, end } = this.view(), low = this.time.place(start), high = this.time.place(end), counts = {};
    const shown = this.differing.filter(([trace]) => trace.visible !== "legendonly");
    for (const [{ yaxis }, { x }] of shown)
      counts[yaxis] = (counts[yaxis] || 0) + x.filter(each => each >= low && each <= high).length;
    for (const [trace, { x, y, name }] of shown)
      Object.assign(trace, counts[trace.yaxis] <= MOST_MARKS ? { x, y, name } : { x: [null], y: [null], name: `${name} (zoom in)` });
  }

  ranges() {
    return JSON.stringify([this.chart._fullLayout.xaxis.range, this.runs.map(run => [this.view(run).low, this.view(run).high])]);
  }

  async draw() {
    const { data, layout } = this.fitted();
    this.asked = null;
    await Plotly.react(this.chart, data, layout);
    this.told = this.ranges();
    this.chart.emit("gantt_drawn");
    this.fillWhenStill();
  }

  // After plotly itself has zoomed: draw what is in view now, once.
  later() {
    this.fillWhenStill();
    clearTimeout(this.due);
    this.due = setTimeout(() => { if (this.ranges() !== this.told) this.drawView(); }, 40);
  }

  async drawView() {
    await this.draw();
    if (this.inView.checked) this.fill();
    putAddress(this);
  }

  zoom(start, end) {
    this.asked = [start, end].map(each => this.time.place(each));
    Object.assign(this.layout.xaxis, { range: this.asked, autorange: false });
    return this.drawView();
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

  reset() {
    const [start, end] = this.whole.map(each => this.time.seconds(each));
    return this.zoom(start, end);
  }

  allShapes() { return [...this.rests(), ...this.shapes, ...this.runs.flatMap(run => groupLines(run, this.layout.xaxis.linecolor)), ...this.links(), ...this.marks(), ...this.brush?.marks() || []]; }

  // Faint bands of nights (20:00 to 06:00) and weekends on the clocks of the machine, where they are wide enough to be seen.
  rests() {
    if (this.time.unit !== "calendar" || !this.calm) return [];
    const { start, end } = this.view(), [from, to] = [start, end].map(each => this.time.place(each)), day = 1e3 * DAY;
    const { width } = this.view(this.run), px = day * width / (to - from), bands = [];
    for (let midnight = Math.floor(from / day - 1) * day; 2 * px >= LEAST_REST_PX && midnight < to; midnight += day) {
      if (new Date(midnight).getUTCDay() === 6) bands.push([midnight, midnight + 2 * day]);
      if (px * 10 / 24 >= LEAST_REST_PX) bands.push([midnight + day * 20 / 24, midnight + day * 30 / 24]);
    }
    const look = { type: "rect", xref: "x", yref: "paper", y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: this.ink, opacity: 0.05, name: "rest" };
    return bands.filter(([x0, x1]) => x1 > from && x0 < to).map(([x0, x1]) => ({ ...look, x0: Math.max(x0, from), x1: Math.min(x1, to) }));
  }

  // The chain of jobs that the chosen one waited for: their pieces, and a step from each to the next when that begins.
  links(id = this.chosen) {
    if (id === null) return [];
    return this.runs.flatMap(run => {
      const row = run.row(id), chain = row === undefined ? [] : run.chain(row), look = { xref: "x", yref: run.yaxis, name: "chain" };
      const line = { color: CHAIN, width: 2.5 }, place = each => run.time.place(each), middle = boxes => (boxes[0].y0 + boxes.at(-1).y1) / 2;
      const piece = ({ row, start, end }) => run.boxes(row).filter(box => box.x0 >= start - 1e-5 && box.x1 <= end + 1e-5).sort((a, b) => a.y0 - b.y0);
      const pieces = chain.map(piece), next = [...pieces.slice(1), row === undefined ? [] : run.boxes(row)];
      return pieces.flatMap((boxes, at) => [
        ...boxes.map(box => ({ ...look, type: "rect", x0: place(box.x0), x1: place(box.x1), y0: box.y0, y1: box.y1, line })),
        ...boxes.length && next[at].length ? [{ ...look, type: "line", x0: place(chain[at].end), x1: place(chain[at].end), y0: middle(boxes), y1: middle(next[at]), line: { ...line, dash: "dot" } }] : [],
      ]);
    }).slice(-MOST_LINKED);
  }

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
}
