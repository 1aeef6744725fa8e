// A plotly figure that is changed in place: new numbers neither flash nor take the reader's zoom away.

let loading;

function plotly(url) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = undefined;
      reject(new Error("plotly.js could not be loaded"));
    };
    document.head.append(script);
  });
  return loading;
}

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".obmc-figure");
  box.setAttribute("aria-label", data.alt);
  box.dataset.name = data.name;
  const figure = JSON.parse(data.figure);
  figure.layout.font = { ...figure.layout.font, family: getComputedStyle(parentElement).fontFamily };
  plotly(new URL(data.plotly, document.baseURI).href).then((library) => {
    if (!box.isConnected) return;
    library.react(box, figure.data, figure.layout, data.config);
    if (!box.watcher) {
      box.watcher = new ResizeObserver(() => box.isConnected && library.Plots.resize(box));
      box.watcher.observe(parentElement);
    }
  });
  return () => {
    if (box.isConnected) return;
    box.watcher?.disconnect();
    window.Plotly?.purge(box);
  };
}
