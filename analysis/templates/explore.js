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
})() });
