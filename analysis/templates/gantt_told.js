// Why a job, or a group of jobs, waited: what the run says, and who held the machine meanwhile.
"use strict";
const MOST_NAMED = 4;

// What is told of one job, as elements; job(row) makes a link to another.
function toldOfJob(run, row, by, job) {
  const told = [toldLines(run.lines(row))], why = row < run.hover?.waited?.lazily.length ? run.hover.waited.lazily.at(row) : "";
  const submit = run.numbers.submit_time[row], start = run.numbers.start_time[row];
  if (!(start > submit)) return told;
  if (why) told.push(element("p", { textContent: `It waited last because ${why}.` }));
  const before = predecessors(run, row);
  if (before.length) {
    const named = before.slice(0, MOST_NAMED).flatMap((other, place) => [place ? ", " : "", job(other)]);
    const rest = before.length > MOST_NAMED ? ` and ${before.length - MOST_NAMED} more` : "";
    told.push(element("p", {}, "It began when its cores became free, which until then were held by ", ...named, `${rest}.`));
  }
  told.push(toldHolders(run, [row], by, "While it waited"));
  return told.filter(Boolean);
}

// What is told of several.
function toldOfJobs(run, rows, by, title) {
  const { wait_time: wait, run_time: ran, requested_cores: cores } = run.numbers;
  const waits = rows.map(row => wait[row]).filter(value => value === value).sort((a, b) => a - b);
  if (!waits.length) return [];
  const all = waits.reduce((a, b) => a + b, 0), work = rows.reduce((sum, row) => sum + (ran[row] * cores[row] || 0), 0);
  const middle = waits[Math.floor(waits.length / 2)];
  const told = [element("p", {}, element("b", { textContent: title }), `: ${short(rows.length)} jobs, ${short(work / 3600)} core h. `
    + `They waited ${lasting(all)} in all, ${lasting(all / waits.length)} on average; half of them at most ${lasting(middle)}.`)];
  const reasons = commonReasons(run, rows);
  if (reasons.length) told.push(element("p", { textContent: "Those that waited did so last because:" }),
    element("ul", {}, ...reasons.map(([text, count]) => element("li", { textContent: `${short(count)} × ${text}` }))));
  told.push(toldHolders(run, rows, by, "While they waited"));
  return told.filter(Boolean);
}

function toldLines(lines) {
  return element("p", {}, ...lines.flatMap((line, place) => [
    ...(place ? [element("br")] : []),
    ...line.map(([text, bold]) => bold ? element("b", { textContent: text }) : text),
  ]));
}

// The jobs that held the cores of a job until it got them.
function predecessors(run, row) {
  const all = run.rectangles, boxes = run.boxes(row).filter((box, _, [first]) => box.x0 === first.x0), found = new Map();
  for (let i = 0; i < all.owner.length; i++) {
    if (all.owner[i] === row) continue;
    for (const box of boxes)
      if (Math.abs(all.end[i] - box.x0) < 1e-6 && all.low[i] < box.y1 - 1e-6 && all.high[i] > box.y0 + 1e-6)
        found.set(all.owner[i], (found.get(all.owner[i]) || 0) + all.cores[i]);
  }
  return [...found].sort((a, b) => b[1] - a[1]).map(([owner]) => owner);
}

// Core-seconds that each value of a column held while jobs waited, and the share of the machine: each second counts as often
// as jobs waited in it.
function holders(run, rows, by) {
  const { submit_time: submit, start_time: start } = run.numbers, { code, names } = run.values(by);
  const changes = rows.flatMap(row => start[row] > submit[row] ? [[submit[row], 1], [start[row], -1]] : []).sort((a, b) => a[0] - b[0]);
  if (!changes.length) return null;
  const times = [], before = [0], waiting = [];  // before[i]: seconds of waiting up to times[i]
  let now = 0;
  changes.forEach(([time, step], place) => {
    if (place) before.push(before[place - 1] + now * (time - times[place - 1]));
    times.push(time);
    waiting.push(now += step);
  });
  const upTo = time => {
    if (time <= times[0]) return 0;
    let low = 0, high = times.length - 1;
    while (low < high) { const middle = (low + high + 1) >> 1; if (times[middle] <= time) low = middle; else high = middle - 1; }
    return before[low] + waiting[low] * (time - times[low]);
  };
  const all = run.rectangles, held = new Float64Array(names.length);
  for (let i = 0; i < all.owner.length; i++)
    held[code[all.owner[i]]] += all.cores[i] * (upTo(all.end[i]) - upTo(all.start[i]));
  const total = before.at(-1) * run.firstCore.at(-1), busy = held.reduce((a, b) => a + b, 0);
  const ranked = Array.from(held, (seconds, place) => [names[place], seconds / busy]).sort((a, b) => b[1] - a[1]);
  return busy && total ? { busy: busy / total, ranked: ranked.filter(each => each[1] >= 0.005) } : null;
}

function toldHolders(run, rows, by, when) {
  const found = holders(run, rows, by);
  if (!found) return null;
  const percent = share => `${short(Math.round(100 * share))} %`;
  return element("div", {},
    element("p", { textContent: `${when}, ${percent(found.busy)} of the cores were busy, with jobs of these (${TITLES[by]}s):` }),
    element("ul", { className: "shares" }, ...found.ranked.slice(0, 6).map(([name, share]) => {
      const line = element("li", {}, element("span", { textContent: name || "–" }), element("i"), element("b", { textContent: percent(share) }));
      line.children[1].style.width = `${Math.round(150 * share)}px`;
      return line;
    })));
}

// The commonest of the reasons for which jobs waited last, without the numbers and names in them.
function commonReasons(run, rows) {
  const told = run.hover?.waited?.lazily, counts = new Map();
  if (!told) return [];
  for (const row of rows) {
    const text = row < told.length ? told.at(row).replace(/job \S*\d\S*/g, "job …").replace(/\b\d[\d,.:]*/g, "n") : "";
    if (text) counts.set(text, (counts.get(text) || 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
}
