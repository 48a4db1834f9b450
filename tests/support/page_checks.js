// What is wrong with a page as it is drawn now: a list of sentences.
(() => {
  const found = [], { documentElement: root, body } = document;
  if (root.scrollWidth > innerWidth + 1) found.push(`it is ${root.scrollWidth} px wide in a window of ${innerWidth} px`);
  const first = body.querySelector("h1, h2, h3, p, table, ul, .controls, .plotly-graph-div, main");
  if (!first || first.tagName !== "H1" || !first.textContent.trim()) found.push(`it begins with ${first?.tagName}.${first?.className}, not with a heading`);
  const texts = ".gtitle, .gtitle-subtitle, .xtitle, .ytitle, .legendtext, .legendtitletext, .xtick text, .ytick text, .annotation-text, .cbtitle text, .cbaxis text, .cbaxis .ytick text";
  for (const chart of document.querySelectorAll(".plotly-graph-div")) {
    const { width, height } = chart.getBoundingClientRect();
    if (!width || !height) continue;  // folded away
    const marks = chart.querySelectorAll(".plot path, .plot image, .plot text, .heatmaplayer image, .barlayer path, .scatterlayer path, .boxlayer path, .sankey path");
    if (!marks.length && !chart.querySelector(".gl-canvas") && !chart.querySelector(".annotation-text")) found.push(`chart ${chart.id} is empty`);
    const boxes = [...new Set(chart.querySelectorAll(texts))].filter(each => each.textContent.trim() && each.getClientRects().length && getComputedStyle(each).opacity !== "0")
      .map(each => ({ each, box: each.getBoundingClientRect() })).filter(({ box }) => box.width && box.height);
    const place = chart.getBoundingClientRect();
    for (const { each, box } of boxes)
      if (box.left < place.left - 2 || box.right > place.right + 2) found.push(`chart ${chart.id}: “${each.textContent}” is cut off`);
    for (let i = 0; i < boxes.length; i++)
      for (let j = i + 1; j < boxes.length; j++) {
        const [a, b] = [boxes[i], boxes[j]];
        if (a.each.contains(b.each) || b.each.contains(a.each)) continue;
        if ([a, b].every(({ each }) => /rotate\((?!0)/.test(each.getAttribute("transform")))) continue;  // slanted side by side
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left), tall = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (wide > 2 && tall > 4) found.push(`chart ${chart.id}: “${a.each.textContent}” lies on “${b.each.textContent}”`);
      }
  }
  return found;
})()
