// The chart of an app as the server draws it, light or dark as the page is.
window.dash_clientside = Object.assign({}, window.dash_clientside, { chart: {
  show: figure => {
    return figure && clusterSim.isDark() ? { ...figure, data: figure.data.map(onDark), layout: clusterSim.onGround(figure.layout, true) } : figure;
  },
} });
