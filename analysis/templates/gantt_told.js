// Why a job, or a group of jobs, waited: what the run says, and who held the machine meanwhile.
"use strict";
const MOST_NAMED = 4, MOST_LINKS = 8;
const AMOUNTS = /\b\d[\d,.:]*(?: (?:d|h|min|s)\b)?(?: \d[\d:]*(?: (?:min|s)\b)?)?/g;

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
  told.push(toldChain(run, row, job), toldHolders(run, [row], by, "While it waited"));
  return told.filter(Boolean);
}

// The jobs that a job waited for, the last ones if there are many.
function toldChain(run, row, job) {
  const links = run.chain(row), shown = links.slice(-MOST_LINKS), all = links.reduce((sum, { ofWait }) => sum + ofWait, 0), wait = run.numbers.wait_time[row];
  if (!links.length) return null;
  const more = links.length > shown.length ? `, the last ${shown.length} of ${short(links.length)}` : "";
  return element("div", {}, element("p", {}, `It waited for these jobs (outlined) to end, one after the other${more}; they took ${short(Math.round(100 * all / wait))} % of its wait:`),
    element("ol", {}, ...shown.map(link => element("li", {}, job(link.row), `: ${countedCores(link.cores)}, ${lasting(link.ofWait)}`))));
}

// What is told of several.
function toldOfJobs(run, rows, by, title) {
  const { wait_time: wait } = run.numbers;
  const waits = Float64Array.from(rows, row => wait[row]).filter(each => each === each);
  if (!waits.length) return [];
  const all = waits.reduce((a, b) => a + b, 0), work = rows.reduce((sum, row) => sum + coreSeconds(run.numbers, row), 0);
  const middle = ranked(waits, (waits.length - 1) >> 1);
  const half = middle ? `half of them at most ${lasting(middle)}` : "half of them not at all";
  const waited = !all ? (rows.length === 1 ? "It did not wait" : "None of them waited") : waits.length === 1 ? `It waited ${lasting(all)}`
    : `They waited ${lasting(all)} in all, ${lasting(all / waits.length)} on average; ${half}`;
  const told = [element("p", {}, element("b", { textContent: title }), `: ${countedJobs(rows.length)}, ${coreTime(work)}${energyOf(run, rows)}. ${waited}.`)];
  const reasons = commonReasons(run, rows), shown = reasons.length > MOST_NAMED + 1 ? reasons.slice(0, MOST_NAMED) : reasons;
  const others = reasons.slice(shown.length).reduce((sum, [, count]) => sum + count, 0);
  if (others) shown.push([`for ${short(reasons.length - shown.length)} other reasons`, others]);
  if (reasons.length) told.push(element("p", { textContent: "Those that waited did so last because:" }),
    element("ul", {}, ...shown.map(([text, count]) => element("li", { textContent: `${short(count)} × ${text}` }))));
  told.push(toldHolders(run, rows, by, "While they waited"), toldWaits(run, rows, by));
  return told.filter(Boolean);
}

// The energy of jobs in words, if the run says it.
function energyOf({ numbers: { energy_j: energy } }, rows) {
  const all = energy ? rows.reduce((sum, row) => sum + (energy[row] || 0), 0) : 0;
  return all ? `, ${joules(all)}` : "";
}

// The mean wait of those with most core-seconds among jobs.
function toldWaits(run, rows, by) {
  const { code, names } = run.byJob ? { names: [] } : run.values(by), { wait_time: wait } = run.numbers, found = new Map();
  if (names.length < 2 || by === "job_id") return null;
  for (const row of rows) {
    if (wait[row] !== wait[row]) continue;
    const own = found.get(code[row]) || { jobs: 0, waited: 0, work: 0 };
    own.jobs++; own.waited += wait[row]; own.work += coreSeconds(run.numbers, row);
    found.set(code[row], own);
  }
  const most = [...found].sort((a, b) => b[1].work - a[1].work).slice(0, MOST_NAMED + 1);
  return found.size < 2 ? null : element("p", {}, `Mean waits, by ${TITLES[by]} (most core time first): `,
    most.map(([place, { jobs, waited }]) => `${names[place] || "–"} ${lasting(waited / jobs)}`).join(", "), ".");
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
  const waited = Uint32Array.from(rows).filter(row => start[row] > submit[row]);
  if (!waited.length) return null;
  const until = secondsUpTo(Float64Array.from(waited, row => submit[row]));
  const since = secondsUpTo(Float64Array.from(waited, row => start[row]));
  const upTo = time => until(time) - since(time), whole = waited.reduce((sum, row) => sum + start[row] - submit[row], 0);
  const all = run.rectangles, held = new Float64Array(names.length);
  for (let i = 0; i < all.owner.length; i++)
    held[code[all.owner[i]]] += all.cores[i] * (upTo(all.end[i]) - upTo(all.start[i]));
  const total = whole * run.firstCore.at(-1), busy = held.reduce((a, b) => a + b, 0);
  const ranked = Array.from(held, (seconds, place) => [names[place], seconds / busy]).sort((a, b) => b[1] - a[1]);
  return busy && total ? { busy: busy / total, ranked: ranked.filter(each => each[1] >= 0.005) } : null;
}

// Of moments: how many seconds are between them, all together, and a time that is later than they are.
function secondsUpTo(moments) {
  const times = Float64Array.from(moments).sort(), sums = new Float64Array(times.length + 1), parts = 65536;
  times.forEach((time, place) => { sums[place + 1] = sums[place] + time; });
  // Where the times of each of many equal parts begin, so that a million of them are not searched from the middle.
  const first = times[0], wide = (times.at(-1) - first) / parts || 1, begins = new Uint32Array(parts + 2).fill(times.length);
  for (let place = times.length - 1; place >= 0; place--) begins[Math.min(Math.floor((times[place] - first) / wide), parts)] = place;
  for (let part = parts; part >= 0; part--) begins[part] = Math.min(begins[part], begins[part + 1]);
  return time => {
    const part = Math.min(Math.max(Math.floor((time - first) / wide), 0), parts);
    let low = begins[part], high = begins[part + 1];
    while (low < high) { const middle = (low + high) >> 1; if (times[middle] < time) low = middle + 1; else high = middle; }
    return low * time - sums[low];
  };
}

function toldHolders(run, rows, by, when) {
  if (run.byJob) return null;  // its rows are no cores
  const found = holders(run, rows, by);
  if (!found) return null;
  const percent = share => `${short(Math.round(100 * share))} %`, busy = `${when}, ${percent(found.busy)} of the cores were busy`;
  if (run.values(by).names.length < 2) return element("p", { textContent: `${busy}.` });
  return element("div", {},
    element("p", { textContent: `${busy}, with jobs of these (${TITLES[by]}s):` }),
    element("ul", { className: "shares" }, ...found.ranked.slice(0, 6).map(([name, share]) => {
      const line = element("li", {}, element("span", { textContent: name || "–" }), element("i"), element("b", { textContent: percent(share) }));
      line.children[1].style.width = `${Math.round(150 * share)}px`;
      return line;
    })));
}

// The reasons for which jobs waited last, the commonest first, without the numbers and ids in them.
function commonReasons(run, rows) {
  const told = run.hover?.waited?.lazily, counts = new Map();
  if (!told) return [];
  for (const row of rows) {
    const text = row < told.length ? withoutNumbers(run, told.at(row)) : "";
    if (text) counts.set(text, (counts.get(text) || 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

// One text for what is said of one core, node or guest and of several.
function withoutNumbers(run, text) {
  const unnamed = (all, id, mark) => run.row(id) === undefined ? all : `job …${mark}`;
  return text.replace(/\bjob (\S+?)([),;:]*)(?!\S)/g, unnamed).replace(AMOUNTS, "…")
    .replace(/… ((?:free |more )?(?:core|node|guest))\b/g, "… $1s")
    .replace(/(?<!job )… (of … nodes )?is\b/g, "… $1are").replace(/(?<!job )… (of … nodes )?has\b/g, "… $1have").replace(/… more guests holds/, "… more guests hold")
    .replace(/it asks for … cores, … free/, "it asks for more cores than are free");
}
