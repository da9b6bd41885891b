// The film of a run: a slider over snapshots moves heads, neurons, lens, scores and what the model writes.

const TILE = 22; // of a head, in units of the view box
const FRAME = 700; // milliseconds that a snapshot is shown for while the film plays

// Every function below takes `view`: the film, what is chosen in it, and the nodes that change.
function filmSection({ film, heads }) {
  const last = film.steps.length - 1;
  const view = {
    film, roles: heads.roles, at: last, playing: null, head: [], bars: [],
    step: el("output", { class: "step", id: "film-step" }), lens: el("div"), texts: el("div", { class: "samples" }),
    scores: el("ul", { class: "scores", "aria-label": "Scores at this step" }), rolesKey: el("ul", { class: "legend" }), labelsKey: el("ul", { class: "legend" }),
  };
  view.slider = el("input", { type: "range", id: "film-slider", min: 0, max: last, value: last, "aria-label": "Step of the training", oninput: () => { pauseFilm(view); showSnapshot(view, Number(view.slider.value)); tellStep(view); } });
  view.button = el("button", { type: "button", class: "plain", id: "film-play", onclick: () => { if (view.playing) { pauseFilm(view); tellStep(view); } else playFilm(view); } }, "Play");
  byId("film-view").append(
    el("div", { class: "bar film" }, view.button, view.slider, view.step),
    el("div", { class: "columns" },
      el("div", { class: "panel" }, el("h3", {}, "Heads by role"), filmHeads(view), view.rolesKey),
      el("div", { class: "panel" }, el("h3", {}, "Neurons by label"), filmNeurons(view), view.labelsKey),
      el("div", { class: "panel" }, el("h3", {}, "Logit lens"), view.lens),
      el("div", { class: "panel" }, el("h3", {}, "Scores, with 95% intervals"), view.scores)),
    view.texts);
  showSnapshot(view, last);
  follow("step", (value) => { const at = film.steps.findIndex((step) => String(step) === value); pauseFilm(view); showSnapshot(view, at === -1 ? last : at); });
}

function tellStep(view) {
  if (view.at === view.film.steps.length - 1) forget("step"); else tell("step", view.film.steps[view.at]);
}

function playFilm(view) {
  const last = view.film.steps.length - 1;
  showSnapshot(view, view.at === last ? 0 : view.at + 1);
  view.button.textContent = "Pause";
  view.playing = setInterval(() => {
    showSnapshot(view, view.at + 1);
    if (view.at !== last) return;
    pauseFilm(view);
    tellStep(view);
  }, FRAME);
}

function pauseFilm(view) {
  clearInterval(view.playing);
  view.playing = null;
  view.button.textContent = "Play";
}

function filmHeads(view) {
  const [layers, width] = view.film.shape, left = 26, top = 20, side = TILE - 3;
  const picture = svg("svg", { class: "plot", viewBox: `0 0 ${left + width * TILE} ${top + layers * TILE}`, role: "img", "aria-label": "Roles of all heads, layers down and heads across", style: `max-width:${Math.max((left + width * TILE) * 1.9, 180)}px` });
  for (let h = 0; h < width; h++) picture.append(svg("text", { x: left + h * TILE + side / 2, y: 13, "text-anchor": "middle", "font-size": 9 }, String(h)));
  for (let l = 0; l < layers; l++) {
    picture.append(svg("text", { x: left - 7, y: top + l * TILE + side / 2 + 3, "text-anchor": "end", "font-size": 9 }, String(l)));
    for (let h = 0; h < width; h++) view.head.push(svg("rect", { x: left + h * TILE, y: top + l * TILE, width: side, height: side, rx: 4 }, svg("title")));
  }
  picture.append(...view.head);
  return picture;
}

function filmNeurons(view) {
  const { shape: [layers], labels } = view.film, left = 26, high = 20;
  const picture = svg("svg", { class: "plot", viewBox: `0 0 400 ${Math.max(layers, 1) * high + 18}`, role: "img", "aria-label": "Neurons of each layer by label" });
  for (let l = 0; l < layers; l++) {
    picture.append(svg("text", { x: left - 7, y: l * high + 13, "text-anchor": "end", "font-size": 9 }, String(l)));
    view.bars.push(labels.map(({ colour }) => svg("rect", { y: l * high + 3, height: high - 6, fill: colour }, svg("title"))));
  }
  view.most = Math.max(1, ...view.film.counts.flatMap((layers) => layers.map((row) => row.reduce((sum, n) => sum + n, 0))));
  picture.append(...view.bars.flat(), svg("text", { x: left, y: layers * high + 13, "font-size": 9 }, `A whole bar is ${view.most} of the ${view.film.neurons.toLocaleString("en")} neurons of a layer.`));
  return picture;
}

function showSnapshot(view, at) {
  const { film } = view, step = film.steps[at];
  view.at = at;
  view.slider.value = at;
  view.slider.setAttribute("aria-valuetext", `step ${step}`);
  view.step.textContent = `step ${step.toLocaleString("en")} of ${film.steps.at(-1).toLocaleString("en")}`;
  paintFilmHeads(view);
  paintFilmNeurons(view);
  paintFilmLens(view);
  paintFilmScores(view);
  view.texts.replaceChildren(...film.texts[at].map((text, i) => filmStory(film.prompts[i], text)));
}

function paintFilmHeads({ film, roles, head, at, rolesKey }) {
  const width = film.shape[1], codes = film.role[at];
  head.forEach((tile, h) => {
    const role = roles[codes[h]], name = `Layer ${Math.floor(h / width)}, head ${h % width}: ${role.name}`;
    tile.style.fill = role.unresolved ? GREY : role.colour;
    tile.style.fillOpacity = role.unresolved ? 0.6 : 0.35 + 0.65 * clamp(film.effect[at][h], 0, 1);
    tile.querySelector("title").textContent = name;
  });
  rolesKey.replaceChildren(...roles.map((role, r) => [role, codes.filter((code) => code === r).length, film.roleTwins[r]]).filter(([, n]) => n)
    .map(([role, n, twins]) => filmKey(role.unresolved ? GREY : role.colour, role.name, n, twins)));
}

function paintFilmNeurons({ film, bars, at, most, labelsKey }) {
  const left = 26, across = 400 - left;
  bars.forEach((row, l) => {
    let x = left;
    row.forEach((bar, i) => {
      const n = film.counts[at][l][i], width = (n / most) * across;
      bar.setAttribute("x", x);
      bar.setAttribute("width", width);
      bar.querySelector("title").textContent = `Layer ${l}: ${n} ${film.labels[i].name}`;
      x += width;
    });
  });
  labelsKey.replaceChildren(...film.labels.map(({ name, colour, twins }, i) => filmKey(colour, name, film.counts[at].reduce((sum, row) => sum + row[i], 0), twins)));
}

const filmKey = (colour, name, n, twins) => el("li", { class: "chip" }, el("i", { style: `background:${colour}` }), `${name} `, el("span", {}, beside(n, twins)));

// The lens now, beside those of the first and the last snapshot.
function paintFilmLens({ film, at, lens }) {
  const { steps, depths, lens: values } = film, last = steps.length - 1;
  const series = [...new Set([at, 0, last])].map((i) => ({ name: `step ${steps[i]}`, values: values[i] }));
  lens.replaceChildren(lineChart({ label: "Loss of the logit lens by depth, at this step, the first and the last", x: depths.map((_, i) => i), series, xLabel: "blocks passed", yLabel: "nats per token", zero: true, dots: true, height: 240 }).picture);
}

function paintFilmScores({ film, at, scores }) {
  scores.replaceChildren(...film.scores.map(({ name, unit, twins }, i) => {
    const most = Math.max(...film.values.map((row) => row[i]), ...(twins || []), 1e-9), value = film.values[at][i];
    const share = (x) => Number((100 * clamp(x / most, 0, 1)).toFixed(1));
    return el("li", { title: unit }, el("span", {}, name), el("b", {}, number(value), el("span", { class: "muted", style: "font-weight:400" }, ` [${number(film.low[at][i])}, ${number(film.high[at][i])}]`)),
      twins && el("span", { class: "of-twins" }, `untrained twins: ${number(twins[0])} to ${number(twins[1])}`),
      el("div", { class: "meter" }, el("div", { style: `width:${share(value)}%` }), twins && el("i", { class: "twins", style: `left:${share(twins[0])}%;right:${100 - share(twins[1])}%` })));
  }));
}

function filmStory(prompt, text) {
  const begun = prompt && text.startsWith(prompt);
  return el("article", {}, el("p", { class: "story" }, begun ? el("b", {}, prompt) : null, begun ? text.slice(prompt.length) : text.trim()));
}
