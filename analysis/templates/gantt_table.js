// The table of jobs under a chart: sorted by any column, or summed up by user, queue, …; a click chooses a job or a group.
"use strict";
const SHOWN_AT_ONCE = 100, MOST_SORTED = 10000;
const GROUPED = ["jobs", "waited in all", "mean wait", "longest wait", "mean slowdown", "core time"];

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

class JobTable {
  constructor(run, chosen, grouped) {
    Object.assign(this, { run, chosen, grouped, sort: "wait_time", down: true, by: "", rows: [] });
    // What is the same of all jobs, such as that they completed, needs no column.
    const differs = name => name === "job_id" || !(name in run.texts) || run.values(name).names.length > 1;
    this.columns = Object.keys(TITLES).filter(name => run.has(name) && differs(name));
    this.head = element("tr");
    this.body = element("tbody");
    this.box = element("div", { className: "scroll jobs" }, element("table", {}, element("thead", {}, this.head), this.body));
    this.box.addEventListener("scroll", () => {
      if (this.box.scrollTop + this.box.clientHeight > this.box.scrollHeight - 40) this.more();
    });
    this.head.addEventListener("click", event => {
      const name = event.target.closest("th")?.dataset.name;
      if (!name) return;
      this.down = this.sort === name ? !this.down : !(name in run.texts);
      this.sort = name;
      this.show(this.rows);
    });
    this.body.addEventListener("click", event => {
      const row = event.target.closest("tr");
      if (row?.dataset.row) chosen(Number(row.dataset.row));
      else if (row) grouped(this.by, row.dataset.value);
    });
  }

  // Rows of the run that the table is of; by: "" or the column that sums them up.
  show(rows) {
    this.rows = rows;
    this.body.replaceChildren();
    if (this.by) return this.showGroups();
    this.titles(this.columns.map(name => [name, TITLES[name]]));
    const { texts, numbers } = this.run, name = this.sort in texts || this.sort in numbers ? this.sort : "submit_time";
    let key;
    if (name in texts) {
      const { code, names } = this.run.values(name), order = names.map((_, place) => place)
        .sort((a, b) => byNumberOrName(names[a], names[b])), rank = [];
      order.forEach((place, at) => { rank[place] = at; });
      key = row => rank[code[row]];
    } else {
      const values = numbers[name];
      key = row => values[row] === values[row] ? values[row] : -Infinity;
    }
    const compare = this.down ? (a, b) => key(b) - key(a) || a - b : (a, b) => key(a) - key(b) || a - b;
    this.sorted = Uint32Array.from(foremost(rows, key, this.down)).sort(compare);
    this.shown = 0;
    this.more();
    this.mark(this.marked);
  }

  more() {
    if (this.by || this.shown >= this.sorted.length) return;
    const next = this.sorted.subarray(this.shown, this.shown + SHOWN_AT_ONCE);
    this.body.append(...Array.from(next, row => this.line(row)));
    this.shown += next.length;
  }

  line(row) {
    const line = element("tr", {}, ...this.columns.map(name => element("td", { textContent: this.run.cell(name, row) })));
    line.dataset.row = row;
    return line;
  }

  // The chosen job is marked, and comes first where it is not among the rows that are shown.
  mark(row) {
    this.marked = row;
    this.body.querySelectorAll(".first").forEach(line => line.remove());
    this.body.querySelectorAll(".chosen").forEach(line => line.classList.remove("chosen"));
    if (row === undefined || this.by) return;
    let line = this.body.querySelector(`[data-row="${row}"]`);
    if (!line) {
      this.body.prepend(line = this.line(row));
      line.classList.add("first");
    }
    line.classList.add("chosen");
    const from = line.offsetTop - this.head.offsetHeight;
    if (from < this.box.scrollTop || line.offsetTop + line.offsetHeight > this.box.scrollTop + this.box.clientHeight)
      this.box.scrollTop = from;
  }

  showGroups() {
    const { wait_time: wait, slowdown } = this.run.numbers;
    const { code, names } = this.run.values(this.by), groups = new Map();
    for (const row of this.rows) {
      if (!groups.has(code[row])) groups.set(code[row], { jobs: 0, waits: 0, wait: 0, most: 0, slow: 0, slows: 0, work: 0 });
      const group = groups.get(code[row]);
      group.jobs++;
      if (wait[row] === wait[row]) { group.waits++; group.wait += wait[row]; group.most = Math.max(group.most, wait[row]); }
      if (slowdown?.[row] === slowdown?.[row]) { group.slows++; group.slow += slowdown?.[row] || 0; }
      group.work += coreSeconds(this.run.numbers, row);
    }
    const lines = [...groups].map(([place, { jobs, waits, wait: all, most, slow, slows, work }]) =>
      [names[place], jobs, all, all / waits, most, slow / slows, work]);
    const at = Math.max(0, [this.by, ...GROUPED].indexOf(this.sort)) || (this.sort === this.by ? 0 : 2);
    const sign = this.down ? -1 : 1;
    lines.sort((a, b) => sign * (at ? (a[at] || 0) - (b[at] || 0) : byNumberOrName(a[0], b[0])));
    this.titles([[this.by, TITLES[this.by]], ...GROUPED.map(name => [name, name])], [this.by, ...GROUPED][at]);
    this.body.append(...lines.slice(0, 1000).map(([value, jobs, all, mean, most, slow, work]) => {
      const cells = [value || "–", short(jobs), lasting(all), lasting(mean), lasting(most), short(slow), coreTime(work)];
      const line = element("tr", {}, ...cells.map(text => element("td", { textContent: text })));
      line.dataset.value = value;
      return line;
    }));
  }

  titles(columns, sorted = this.sort) {
    this.head.replaceChildren(...columns.map(([name, title]) => {
      const cell = element("th", { scope: "col", textContent: title + (name === sorted ? (this.down ? " ▾" : " ▴") : "") });
      cell.dataset.name = name;
      return cell;
    }));
  }
}

// The rows that come first: of a million nobody reads all, and sorting them takes seconds.
function foremost(rows, key, down) {
  if (rows.length <= 2 * MOST_SORTED) return rows;
  const keys = Float64Array.from(rows, key), edge = ranked(keys, down ? rows.length - MOST_SORTED : MOST_SORTED - 1);
  const beyond = rows.filter((_, i) => down ? keys[i] > edge : keys[i] < edge), equal = rows.filter((_, i) => keys[i] === edge);
  return [...beyond, ...equal.slice(0, MOST_SORTED - beyond.length)];
}

// The value that would stand at a place if the values were sorted. Those of most of them are only counted, in steps of their range.
function ranked(values, place) {
  const steps = 4096;
  while (values.length > 4 * steps) {
    let low = Infinity, high = -Infinity;
    for (const value of values) { if (value < low && value > -Infinity) low = value; if (value > high) high = value; }
    const wide = (high - low) / (steps - 2), counts = new Uint32Array(steps);
    if (!(wide > 0)) break;
    const step = value => value === -Infinity ? 0 : 1 + Math.floor((value - low) / wide);
    for (const value of values) counts[step(value)]++;
    let at = 0, before = 0;
    while (before + counts[at] <= place) before += counts[at++];
    if (counts[at] === values.length) break;
    values = values.filter(value => step(value) === at);
    place -= before;
  }
  return Float64Array.from(values).sort()[place];
}
