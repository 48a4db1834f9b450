// A Gantt chart under the mouse and the keys: what is pointed at, chosen, zoomed and moved.
"use strict";

function listen(tool) {
  const { chart } = tool;
  chart.on("plotly_relayout", () => tool.later());
  chart.on("plotly_hover", () => { tool.busy = true; tool.hint.hidden = true; });
  chart.on("plotly_unhover", () => { tool.busy = false; });
  chart.on("plotly_legendclick", ({ curveNumber, fullData }) => {
    const trace = fullData[curveNumber], { names, name } = tool.colourings[tool.colouring];
    if (trace.meta !== "colours") return true;
    const column = name in tool.run.texts ? name : null, value = names.find(each => escaped(each).startsWith(trace.name.replace(/…$/, "")));
    if (column) tool.filter(column, tool.wanted[column] === value ? null : value);
    return false;
  });
  chart.addEventListener("mousemove", event => hover(tool, event));
  chart.addEventListener("mouseleave", () => { tool.hint.hidden = true; });
  chart.addEventListener("wheel", event => {
    const at = event.target.closest(".draglayer, .nsewdrag") && under(tool, event);
    if (!at || event.ctrlKey) return;
    event.preventDefault();
    tool.turned = (tool.turned || 1) * 1.0015 ** event.deltaY;
    tool.turning ||= requestAnimationFrame(() => {
      const factor = tool.turned;
      tool.turned = 1;
      tool.scale(factor, at.time).then(() => { tool.turning = null; });
    });
  }, { passive: false });
  let pressed = null;
  chart.addEventListener("mousedown", event => { pressed = [event.clientX, event.clientY]; }, true);
  chart.addEventListener("click", event => {
    const at = event.target.closest(".nsewdrag") && under(tool, event);
    if (!at?.run || !pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
    const group = tool.fixed || !at.run.groups ? -1 : at.run.groups.at(at.height);
    if (group >= 0) return tool.fold((folded, place) => place === group ? !folded : folded);
    const i = at.run.hit(at.time, at.height);
    tool.choose(i < 0 ? null : at.run.id(at.run.rectangles.owner[i]));
  });
  chart.on("gantt_drawn", () => tool.brush.place());
  new ResizeObserver(() => tool.later()).observe(chart);
}

// What is under the mouse: the run, the time and the height.
function under(tool, event) {
  const box = tool.chart.getBoundingClientRect(), { xaxis, ...full } = tool.chart._fullLayout;
  const x = event.clientX - box.left - xaxis._offset, y = event.clientY - box.top;
  if (x < 0 || x > xaxis._length) return null;
  const time = tool.time.seconds(xaxis.p2l(x));
  for (const run of tool.runs) {
    const axis = full[run.yaxis.replace("y", "yaxis")];
    if (y >= axis._offset && y <= axis._offset + axis._length) return { run, time, height: axis.p2l(y - axis._offset) };
  }
  return { time };
}

function hover(tool, event) {
  GanttTool.used = tool;
  if (tool.fixed || event.buttons) return;
  const at = !tool.busy && event.target.closest(".nsewdrag") && under(tool, event), group = at?.run?.groups ? at.run.groups.at(at.height) : -1;
  const i = at?.run && group < 0 ? at.run.hit(at.time, at.height) : -1;
  tool.hint.hidden = i < 0 && group < 0;
  if (tool.hint.hidden) return;
  tool.hint.replaceChildren(toldLines(group < 0 ? at.run.lines(at.run.rectangles.owner[i], i) : at.run.groups.told(group, at.time)));
  const left = Math.min(event.clientX + 14, innerWidth - tool.hint.offsetWidth - 8);
  const top = event.clientY + 16 + tool.hint.offsetHeight > innerHeight ? event.clientY - tool.hint.offsetHeight - 10 : event.clientY + 16;
  tool.hint.style.cssText = `left: ${left}px; top: ${top}px`;
}

function press(tool, event) {
  const does = {
    w: () => tool.scale(0.6), s: () => tool.scale(1 / 0.6), a: () => tool.along(-0.25), d: () => tool.along(0.25),
    b: () => tool.brush.turn(!tool.brush.button.checked), 0: () => tool.reset(), "/": () => tool.search.focus(), Escape: () => tool.clear(),
  }[event.key];
  if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  does();
}

document.addEventListener("keydown", event => {
  const tool = GanttTool.used || GanttTool.all[0];
  if (!tool || event.target.closest?.("input, select, textarea") && event.key !== "Escape") return;
  press(tool, event);
});
