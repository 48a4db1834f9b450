// What a reader sets beside a Gantt chart: search, filters, colours, groups, the last days, pictures.
"use strict";
const KEYS = "wheel or w, s: zoom · drag: a part · a, d: along · double click or 0: all · /: search · Esc: let go";

// Put them around the chart; the tool keeps those that it reads or sets.
function ganttControls(tool) {
  const { run, chart } = tool;
  tool.table = new JobTable(run, row => tool.choose(run.id(row), true), (name, value) => tool.filter(name, value));
  tool.search = element("input", { type: "search", placeholder: "job id, or any text" });
  tool.search.addEventListener("change", () => tool.find(tool.search.value.trim()));
  tool.selects = Object.fromEntries(Object.keys(run.texts).filter(name => name !== "job_id").flatMap(name => {
    const { names, counts } = run.values(name);
    if (names.length < 2) return [];
    const order = names.map((_, place) => place).sort((a, b) => byNumberOrName(names[a], names[b])).slice(0, 2000);
    const select = element("select", { name }, new Option("all", "*"),
      ...order.map(place => new Option(`${names[place] || "–"} (${short(counts[place])})`, names[place])));
    select.addEventListener("change", () => tool.filter(name, select.value === "*" ? null : select.value));
    return [[name, select]];
  }));
  tool.colours = element("select", { name: "colour" }, ...tool.colourings.map((each, place) =>
    new Option(place ? each.name.replace(/_/g, " ") : each.title.toLowerCase() || each.name, place)));
  tool.colours.addEventListener("change", () => { tool.colouring = Number(tool.colours.value); tool.draw(); putAddress(tool); });
  tool.groups = element("select", { name: "by" }, new Option("each job", ""), ...Object.keys(tool.selects).map(name => new Option(`by ${TITLES[name]}`, name)));
  tool.groups.addEventListener("change", () => tool.group(tool.groups.value));
  tool.inView = element("input", { type: "checkbox", name: "view" });
  tool.inView.addEventListener("change", () => { tool.fill(); putAddress(tool); });
  tool.spans = element("select", { name: "span" }, new Option("all", 0), ...lastDays(tool).map(([days, name]) => new Option(name, days)));
  tool.spans.addEventListener("change", () => tool.last(Number(tool.spans.value)));
  tool.calmed = element("input", { type: "checkbox", name: "rests", checked: true });
  tool.calmed.addEventListener("change", () => { tool.calm = tool.calmed.checked; tool.draw(); });
  tool.said = element("output");
  const { groups } = run, folding = ["fold", "unfold"].map((name, place) => {
    const button = element("button", { type: "button", name, textContent: `${name} all` });
    button.addEventListener("click", () => tool.fold(() => !place));
    return button;
  });
  const label = (text, control) => element("label", {}, `${text} `, control);
  const picture = format => {
    const button = element("button", { type: "button", textContent: format.toUpperCase(), title: "the chart as it is now, on white" });
    button.addEventListener("click", () => tool.picture(format));
    return button;
  };
  chart.before(tool.bar = element("div", { className: "controls" }, label("Find", tool.search),
    ...(tool.spans.length > 1 ? [label("Time", tool.spans)] : []),
    ...(tool.fixed ? [] : [label("Colour", tool.colours)]), ...Object.entries(tool.selects).map(([name, select]) => label(TITLES[name], select)),
    ...(tool.time.unit === "calendar" ? [label("Nights and weekends", tool.calmed)] : []), ...(groups && !tool.fixed ? folding : []), picture("svg"), picture("png"), element("small", { textContent: KEYS })));
  tool.aside = element("aside");
  tool.hint = element("div", { className: "hint", hidden: true });
  chart.after(element("div", { className: "controls" }, label("Table of", tool.groups),
    ...(tool.runs.length > 1 ? [element("span", { textContent: `in run ${run.name}` })] : []), label("only jobs in the chart's window", tool.inView), label("select by dragging (b)", tool.brush.button), tool.said),
    element("div", { className: "tool" }, tool.table.box, tool.aside));
  document.body.append(tool.hint);
}

// The ends of a run that is longer than they are: days, and their names.
function lastDays(tool) {
  const [start, end] = tool.whole.map(each => tool.time.seconds(each));
  return [[1, "last day"], [7, "last 7 days"], [30, "last 30 days"]].filter(([days]) => days * DAY < 0.9 * (end - start));
}
