// Buttons that save a chart of the page as a picture: plotly draws it, as it is on the page, in a size of its own.

function chart(name) {
  return document.querySelector(`.obmc-figure[data-name="${name}"]`);
}

async function save(button, say) {
  const box = chart(button.chart);
  if (!box?.data || !window.Plotly) {
    say("The chart is not drawn yet.");
    return;
  }
  const { format, width, height, scale } = button;
  // On the page the ground is that of the theme; a picture goes on paper.
  const figure = { data: box.data, layout: { ...box.layout, paper_bgcolor: "#ffffff" } };
  const drawn = await window.Plotly.toImage(figure, { format, width, height, scale });
  const content = await (await fetch(drawn)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = button.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  say(`Saved as ${button.file}.`);
}

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".obmc-taking");
  const made = JSON.stringify(data.buttons);
  if (box.dataset.made === made) return;
  box.dataset.made = made;
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  const say = (text) => {
    status.textContent = text;
  };
  const buttons = data.buttons.map((button) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = button.label;
    element.title = button.help;
    element.onclick = () => save(button, say).catch(() => say("The browser could not draw the picture."));
    return element;
  });
  box.replaceChildren(...buttons, status);
}
