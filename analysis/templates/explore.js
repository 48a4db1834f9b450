// The stepper in the app, whose frames come from the server and which tells the chart where it stands.
window.dash_clientside = Object.assign({}, window.dash_clientside, { stepper: (() => {
  const tell = (id, props) => window.dash_clientside.set_props(id, props);
  let built = false, waiting = null;
  return {
    load: data => {
      if (!data) return window.dash_clientside.no_update;
      if (!built) {
        stepper.build(document.getElementById("stepper"), {
          // Not every frame that a drag passes: the last one.
          shown: frame => { clearTimeout(waiting); waiting = setTimeout(() => tell("step", { data: frame }), 80); },
          beyond: frame => tell("wanted", { data: frame }),
          told: job => {
            tell("job", { value: job });
            document.getElementById("job").scrollIntoView({ block: "nearest" });
          },
        });
        built = true;
      }
      clearTimeout(waiting);
      stepper.load(data, data.shown);
      return data.shown;
    },
  };
})(), address: {
  // The address follows what is shown, so that it can be sent; the way back in the browser leads out of the page.
  show: text => {
    if (text !== null && text !== undefined && location.hash.slice(1) !== text) history.replaceState(history.state, "", text ? `#${text}` : location.pathname);
    return window.dash_clientside.no_update;
  },
} });

// A list that opens has its search field in focus: what is typed is looked for, and Enter takes the first that is found. Dash
// gives it to the option that is chosen, some moments after it has made the list.
new MutationObserver(changes => {
  if (changes.some(change => [...change.addedNodes].some(node => node.querySelector?.(".dash-dropdown-search"))))
    for (const moment of [0, 40, 120]) setTimeout(() => document.querySelector(".dash-dropdown-search")?.focus(), moment);
}).observe(document.body, { childList: true, subtree: true });
