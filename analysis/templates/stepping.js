// The page of frames: those of other pages are a link away, and the address says which is shown.
"use strict";
const run = JSON.parse(document.getElementById("run").textContent);
const addressed = () => Number(location.hash.slice(1)) - 1;
stepper.build(document.getElementById("stepper"), {
  schedule: true,
  shown: frame => {
    try { history.replaceState(null, "", `#${frame + 1}`); } catch { /* a page within a page may have no address */ }
  },
  beyond: frame => {
    const [address] = run.pages.filter(([, first]) => first <= frame).pop();
    location.href = `${address}#${frame + 1}`;
  },
});
stepper.load(run, run.first);
stepper.go(Number.isInteger(addressed()) && addressed() >= 0 ? addressed() : run.first);
window.addEventListener("hashchange", () => stepper.go(addressed()));
