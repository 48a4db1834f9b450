// What the pages add to plotly: they unpack what they contain, draw it light or dark, and keep ticks at round times.
"use strict";
function fromBase64(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);  // browsers since 2025
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  return bytes;
}

const PAPER_PX = 950;  // browsers make that much fit on A4 and Letter

const clusterSim = {
  begin: null,

  // Plotly, once it has been loaded.
  get ready() { return this.loading ??= new Promise(done => { this.begin = done; }); },

  async unpack(base64) {
    const stream = new Blob([fromBase64(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },

  // What analysis/pages/payload.py wrote: a line of JSON, and the bytes of the arrays in it.
  async figure(base64) {
    const bytes = await this.unpack(base64), end = bytes.indexOf(10);
    const text = new TextDecoder().decode(bytes.subarray(0, end));
    return opened(JSON.parse(text), bytes.subarray(end + 1));
  },

  // Load plotly, which takes a second, after what the page has without it is on the screen.
  async load(plotly) {
    const { ready } = this, seen = new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    await Promise.race([seen, new Promise(done => setTimeout(done, 200))]);  // pages in the background make no frames
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await this.unpack(plotly));
    document.head.append(script);
    this.begin();
    return ready;
  },

  // Still pictures in an element, on dark or light ground.
  still(element, dark) {
    const seen = { ...SEEN_ON_DARK, "#e6e6e6": "#262d33" };
    for (const path of element.querySelectorAll("path"))
      for (const name of ["fill", "stroke"]) {
        const own = path.dataset[name] ??= path.getAttribute(name) || "none";
        path.setAttribute(name, dark && seen[own.toLowerCase()] || own);
      }
  },

  failed: id => error => {
    const old = typeof DecompressionStream === "undefined";
    document.getElementById(id).textContent =
      old ? "This page needs a browser of 2023 or later." : `The figure could not be drawn: ${error}`;
  },

  isDark: () => getComputedStyle(document.documentElement).colorScheme === "dark",

  // A value whose texts are other colours where the table has them.
  recoloured(value, table) {
    const turned = value =>
      typeof value === "string" ? table[value.toLowerCase()] || value :
      Array.isArray(value) ? value.map(turned) :
      value === null || typeof value !== "object" || ArrayBuffer.isView(value) ? value :
      Object.fromEntries(Object.entries(value).map(([key, each]) => [key, turned(each)]));
    return turned(value);
  },

  // A page that is dark, by its own style, has its charts on the same ground: their papers, texts and grids change places.
  onGround(layout, dark) {
    const pairs = [["#ffffff", "#15191d"], ["#22303c", "#e3e8ec"], ["#e4e8ec", "#313a42"], ["#5a6772", "#a7b1ba"],
      ["#444444", "#b4bcc4"], ["#f0f2f4", "#262d33"]];
    return this.recoloured(layout, Object.fromEntries(dark ? pairs : pairs.map(pair => pair.toReversed())));
  },

  drawn: [],  // what has a method that draws it anew, on light or dark ground, so wide (px; undefined: as its place is)

  // On paper a chart has the share of the width that it has on the screen.
  turn(dark, width) {
    const { paddingLeft, paddingRight } = getComputedStyle(document.body), room = document.body.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    for (const each of this.drawn) each.turn(dark, width && Math.floor(width * Math.min(1, each.chart.clientWidth / room)));
  },

  async draw(id, figure, config) {
    const chart = document.getElementById(id);
    await this.ready;
    const tool = (figure.layout.meta || {}).tool;
    if (tool) return new GanttTool(chart, figure, tool).begin(config);
    const given = { ...figure.layout };
    const shown = (dark, layout) => fitted(chart, dark ? figure.data.map(onDark) : figure.data, this.onGround(layout, dark));
    const first = shown(this.isDark(), given);
    await Plotly.newPlot(chart, first.data, first.layout, config);
    this.followZoom(chart);
    this.drawn.push({ chart, turn: (dark, width) => {
      const { data, layout } = shown(dark, isNarrow(chart) ? given : chart.layout);
      return Plotly.react(chart, data, { ...layout, width, autosize: !width });
    } });
  },

  // An axis of seconds from the start of a run, of lengths of time, or a logarithmic one of numbers has ticks at round ones,
  // wherever it is zoomed to: analysis/figures/time_axis.py and figure_style.py make those of the whole in the same way.
  followZoom(chart) {
    const { elapsed, durations, log_ticks: most, log_side: side = "x" } = chart.layout.meta || {};
    const sides = Object.keys(chart._fullLayout).filter(name => /^[xy]axis\d*$/.test(name) && name[0] === side);
    const alike = elapsed || most ? [sides] : (durations || []).map(name => [name]);
    for (const names of alike) {
      let told = "";
      chart.on("plotly_relayout", () => {
        const axis = chart._fullLayout[names[0]], [start, end] = axis.range.map(place => axis.r2l(place));
        if (told === `${start} ${end}`) return;
        told = `${start} ${end}`;
        const { places, texts } = elapsed ? roundTicks(start, end, 9) : most ? logTicks(start, end, most) : durationTicks(start, end, axis);
        Plotly.relayout(chart, Object.fromEntries(names.flatMap(
          name => [[`${name}.tickvals`, places], [`${name}.ticktext`, texts]])));
      });
    }
  },
};

// A trace whose lines, marks and hatched areas would not be seen on dark ground, or would be glaring.
function onDark(trace) {
  const light = { "#444444": "#b4bcc4", "#22303C": "#e3e8ec", "#000000": "#ffffff", "#FFFFFF": "#15191d" };
  const ground = { "#E6E6E6": "#262d33", "#EFEFEF": "#262d33" }, ink = { "#4A4A4A": "#8a949d", "#B3261E": "#f0736a" };
  const turned = each => each && typeof each.color === "string" ? { ...each, color: light[each.color] || each.color } : each;
  const hatched = each => each && { ...each, bgcolor: ground[each.bgcolor] || each.bgcolor, fgcolor: ink[each.fgcolor] || each.fgcolor };
  const { line, marker, fillpattern } = trace, dark = { ...trace };
  if (line) dark.line = turned(line);
  if (fillpattern) dark.fillpattern = hatched(fillpattern);
  if (marker) dark.marker = { ...turned(marker), ...(marker.line && { line: turned(marker.line) }), ...(marker.pattern && { pattern: hatched(marker.pattern) }) };
  return dark;
}

// Light and no wider than the paper when printed; else as the reader's screen is, also when that changes.
addEventListener("beforeprint", () => clusterSim.turn(false, PAPER_PX));
addEventListener("afterprint", () => clusterSim.turn(clusterSim.isDark()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => clusterSim.turn(clusterSim.isDark()));
