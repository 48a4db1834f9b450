// The address of what a Gantt chart shows, to be sent: #job=557&t=0,86400&colour=user&user=ann.
"use strict";

// Put into it what is chosen, seen, coloured and kept.
function putAddress(tool) {
  const told = new URLSearchParams(), { start, end } = tool.view(), places = [start, end].map(each => tool.time.place(each));
  if (GanttTool.all.indexOf(tool) > 0) told.set("chart", GanttTool.all.indexOf(tool) + 1);
  if (tool.chosen !== null) told.set("job", tool.chosen);
  const step = (tool.whole[1] - tool.whole[0]) * 1e-6;
  if (places.some((place, side) => Math.abs(place - tool.whole[side]) > step)) told.set("t", [start, end].map(each => +each.toPrecision(10)).join(","));
  if (tool.colouring) told.set("colour", tool.colourings[tool.colouring].name);
  if (tool.table.by) told.set("by", tool.table.by);
  if (tool.inView.checked) told.set("view", "only");
  const { groups } = tool.run, turned = groups ? groups.rows.flatMap(({ folded }, place) => folded === groups.first[place] ? [] : [place + 1]) : [];
  if (turned.length) told.set("turned", turned.join(","));  // groups that are folded otherwise than at first
  if (tool.text) told.set("text", tool.text);
  for (const [name, value] of Object.entries(tool.wanted)) told.set(name, value);
  const text = told.toString().replace(/%2C/g, ",");
  tool.own = text ? `#${text}` : "";
  if (location.hash !== tool.own) history.replaceState(null, "", tool.own || location.pathname + location.search);
}

// Show what the address says.
async function followAddress(tool) {
  if (!location.hash.includes("=") || location.hash === tool.own) return;
  const told = new URLSearchParams(location.hash.slice(1));
  if ((Number(told.get("chart")) || 1) !== GanttTool.all.indexOf(tool) + 1) return;
  const { run } = tool, colouring = tool.colourings.findIndex(each => each.name === told.get("colour"));
  if (colouring >= 0) tool.colours.value = tool.colouring = colouring;
  const by = told.get("by"), isGroup = Object.hasOwn(run.texts, by);
  tool.table.by = tool.groups.value = isGroup ? by : "";
  tool.inView.checked = told.get("view") === "only";
  tool.search.value = tool.text = told.get("text") || "";
  const isThere = ([name, value]) => name in run.texts && run.values(name).names.includes(value);
  const absent = [...told].filter(pair => pair[0] in TITLES && !(pair[0] in run.numbers) && !isThere(pair)).map(([name, value]) => `${TITLES[name]} ${value}`);
  if (told.get("colour") && colouring < 0) absent.push(`colour ${told.get("colour")}`);
  if (by && !isGroup) absent.push(`table by ${by}`);
  tool.wanted = Object.fromEntries([...told].filter(pair => pair[0] in tool.selects && isThere(pair)));
  for (const [name, select] of Object.entries(tool.selects)) select.value = tool.wanted[name] ?? "*";
  const turned = (told.get("turned") || "").split(",").map(Number);
  for (const { groups } of tool.runs) groups?.fold((_, place) => groups.first[place] !== turned.includes(place + 1));
  const job = told.get("job"), [start, end] = (told.get("t") || "").split(",").map(Number);
  for (const run of tool.runs) run.listed = run.keep(tool.wanted, tool.text, null);
  await tool.draw();
  if (start < end) await tool.zoom(start, end);
  tool.fill();
  if (job !== null) await tool.choose(job, !(start < end));
  for (const each of absent) tool.said.textContent += ` · no ${each}`;
  if (job !== null || start < end) tool.bar.scrollIntoView({ block: "start" });
}

addEventListener("hashchange", () => GanttTool.all.forEach(followAddress));
