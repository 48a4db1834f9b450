// Charts on a phone: legend and colour bar stand above the plot, nothing beside it, and headings are broken into lines.
"use strict";
const NARROW_PX = 700, LINE_PX = 18, BAR_PX = 64;

const isNarrow = chart => chart.clientWidth > 0 && chart.clientWidth < NARROW_PX;

// Words in lines of so many characters at the most.
function inLines(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length >= most && lines.at(-1)) lines.push("");
    lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word;
  }
  return lines;
}

// The traces and the layout of a chart as its place has room for them. Axes stay the same objects: plotly writes zooms there.
function fitted(chart, data, layout) {
  if (!isNarrow(chart)) return { data, layout };
  const width = chart.clientWidth, { title = {}, margin = {} } = layout, subtitle = title.subtitle || {};
  const heading = inLines(title.text || "", width / 9), notes = inLines(subtitle.text || "", width / 6.4);
  const above = (title.text ? 20 * heading.length + 14 : 0) + (subtitle.text ? 15 * notes.length + 6 : 0);
  const bars = data.some(trace => trace.marker?.showscale || (trace.type === "heatmap" && trace.showscale !== false));
  const entries = layout.showlegend === false ? [] : data.filter(trace => trace.showlegend !== false && trace.name && (data.length > 1 || trace.showlegend));
  const room = entries.reduce((sum, trace) => sum + 44 + 6.5 * String(trace.name).length, 0);
  const legend = entries.length ? LINE_PX * (Math.ceil(1.25 * room / (width - 20)) + new Set(entries.map(each => each.legendgrouptitle?.text).filter(Boolean)).size) + 8 : 0;
  const top = above + (bars ? BAR_PX : 0) + legend + 12, more = Math.max(0, top - (margin.t ?? 100));
  const height = (layout.height || chart.clientHeight || 450) + more;
  chart.style.height = `${height}px`;
  const bar = { orientation: "h", x: 0.5, xanchor: "center", len: 1, yref: "container", y: 1 - (above + 4) / height, yanchor: "top", thickness: 10, tickangle: 0, tickfont: { size: 9 } };
  const over = ({ title = {} }) => ({ title: { ...title, text: title.text && `${title.text}<br> ` } });  // the bar, with a line between
  const barred = trace =>
    trace.marker?.showscale ? { ...trace, marker: { ...trace.marker, colorbar: { ...trace.marker.colorbar, ...bar, ...over(trace.marker.colorbar) } } } :
    trace.type === "heatmap" ? { ...trace, colorbar: { ...trace.colorbar, ...bar } } : trace;
  return {
    data: bars ? data.map(barred) : data,
    layout: {
      ...layout, ...thinned(layout, width), height, annotations: layout.annotations?.filter(each => each.name !== "where-wide").map(each => each.xref === "paper" && each.x > 1 ? inside(each, layout) : broken(each, layout, width)),
      title: { ...title, text: heading.join("<br>"), y: 1, yanchor: "top", font: { ...title.font, size: 15 }, pad: { ...title.pad, t: 14 }, subtitle: { ...subtitle, text: notes.join("<br>"), font: { ...subtitle.font, size: 11 } } },
      margin: { ...margin, t: Math.max(top, margin.t ?? 0), r: 10, l: Math.min(margin.l ?? 80, 46) },
      legend: { ...layout.legend, orientation: "h", xref: "container", x: 0.02, xanchor: "left", yref: "container", y: 1 - (above + (bars ? BAR_PX : 0) + 6) / height, yanchor: "top", font: { size: 11 } },
    },
  };
}

// A text that stands beside a plot, at the right end within it.
const inside = (note, { paper_bgcolor: ground }) => ({ ...note, x: 1, xanchor: "right", bgcolor: ground, opacity: 0.8, font: { ...note.font, size: 10 } });

// The name beside a dot in short lines, and the heading of one of several plots beside each other in lines as short as that is wide.
function broken(note, { annotations }, width) {
  if (note.xshift && note.text.length > 20 && !note.showarrow) {
    const lines = inLines(note.text, 20), wide = 5 * Math.max(...lines.map(line => line.length));
    return { ...note, text: lines.join("<br>"), xshift: Math.sign(note.xshift) * (wide / 2 + 8), font: { ...note.font, size: 9 } };
  }
  const beside = annotations.filter(each => each.y === note.y && each.xref === "paper" && each.yref === "paper").length;
  return beside < 2 ? note : { ...note, text: inLines(note.text, (width - 170) / beside / 4.8).join("<br>"), font: { ...note.font, size: 9 } };
}

// Axes of lengths of time with as many of their ticks as there is room for.
function thinned(layout, width) {
  return Object.fromEntries((layout.meta?.durations || []).filter(name => layout[name]?.ticktext && name[0] === "x").map(name => {
    const { tickvals, ticktext, domain: [from, to] = [0, 1] } = layout[name], room = (to - from) * (width - 60);
    const every = Math.ceil(ticktext.reduce((sum, text) => sum + 6.5 * text.length + 10, 0) / room), kept = (_, place) => place % every === 0;
    return [name, { ...layout[name], tickvals: tickvals.filter(kept), ticktext: ticktext.filter(kept) }];
  }));
}

// Names of nodes without what all begin with, as far as a dot.
function withoutPrefix(names) {
  const prefix = (names[0] || "").slice(0, (names[0] || "").lastIndexOf(".") + 1);
  return prefix && names.every(name => name.startsWith(prefix)) ? names.map(name => name.slice(prefix.length)) : names;
}
