// The map of all heads by role, and what was measured of the chosen one.

const GREY = "#aeb4bc"; // of heads without a role
const MAP = { size: 46, gap: 5, left: 34, top: 26 }; // tiles of the map of heads, in units of its view box

// Every function below takes `view`: the section's data, what is chosen in it, and the nodes that change.
function headsSection({ heads, stories, vocabulary }) {
  const [layers, width] = heads.shape;
  const view = {
    heads, vocabulary, layers, width, withAttention: stories.filter((s) => s.attention),
    head: heads.start, story: 0, colour: "role", lit: null, token: null, first: null, layer: false, from: true, rows: null, cells: [],
    legend: el("ul", { class: "legend", "aria-label": "Roles: press one to see it alone" }),
    absent: el("p", { class: "muted small", id: "head-absent", role: "status", hidden: "" }), about: el("div"), matrix: el("div", { class: "matrix", id: "head-matrix", role: "img" }), scale: el("p", { class: "muted small" }),
    hint: el("p", { class: "muted small" }), text: el("p", { class: "text" }), sheet: el("ul", { class: "sheet", id: "head-sheet", "aria-live": "off" }), looks: el("div", { id: "head-looks", "aria-live": "off" }), measured: el("ul", { class: "scores", "aria-label": "What was measured of this head" }),
  };
  const picture = headMap(view);
  byId("heads-view").append(headChoices(view, picture), view.absent, el("div", { class: "heads" }, el("div", { class: "panel" }, picture, view.legend), headDetail(view)));
  chooseTokens(view);
  if (view.withAttention.length) view.large = largeAttention(view);
  drawThumbnails(view);
  paintHeads(view);
  showHead(view, heads.start);
  followAddress(view, stories);
}

// A head by layer and number, a story by its place among all, a token by its place in the story; how many of its tokens
// are shown, and the view beside that of one head: all heads of its layer, or the large one.
function followAddress(view, stories) {
  view.number = (story) => stories.indexOf(story);
  follow("head", (value) => { const head = placeOf(value, view.layers, view.width) ?? view.heads.start; if (head !== view.head) showHead(view, head); });
  follow("role", (value) => { const role = view.heads.roles.findIndex(({ name }) => name === value); view.lit = role === -1 ? null : role; paintHeads(view); });
  follow("story", (value) => {
    const of = stories.findIndex((_, i) => String(i) === value), story = Math.max(0, view.withAttention.indexOf(stories[of]));
    if (story !== view.story && view.withAttention.length) {
      view.storyField.value = String(story);
      showStory(view, story);
    }
    sayAbsent(view, of === -1 || view.withAttention[story] === stories[of] ? null : stories[of]);
  });
  follow("token", (value) => {
    const story = view.withAttention[view.story], last = story && tokensShown(view) - 1;
    if (!story || (value !== null && chosen.get("story") !== String(view.number(story)))) return;
    view.token = /^\d+$/.test(value) && Number(value) <= last ? Number(value) : last;
    highlight(view);
  });
  if (!view.withAttention.length) return;
  follow("first", (value) => showFirst(view, /^\d{1,5}$/.test(value) ? Number(value) : null));
  follow("direction", (value) => {
    view.from = value !== "to";
    view.direction.press(view.from ? "from" : "to");
    highlight(view);
  });
  follow("view", (value) => {
    if ((value === "layer") !== view.layer) showLayer(view, value === "layer");
    if (value === "large") view.large.open(); else view.large.dialog.close();
  });
}

// The heads stay where they are when another section shows a story whose attention the page does not hold.
function sayAbsent(view, story) {
  const left = story && view.withAttention.length;
  view.absent.hidden = !left;
  view.absent.textContent = left ? `The attention of ${story.title} is not on this page; the heads still show ${view.withAttention[view.story].title}.` : "";
}

function showStory(view, story) {
  sayAbsent(view, null);
  view.story = story;
  view.token = null;
  limitFirst(view);
  drawThumbnails(view);
  showAttention(view);
}

const headName = (view, h) => `Layer ${Math.floor(h / view.width)}, head ${h % view.width}`;
const roleColour = (heads, role) => (heads.roles[role].unresolved ? GREY : heads.roles[role].colour);

function rangeOf(score) {
  const finite = score.values.filter(Number.isFinite);
  return [Math.min(0, ...finite), Math.max(0, ...finite)];
}
// What a whole bar stands for: 1, or of what is no share the most that any head has.
const fullOf = (score) => (score.share ? 1 : rangeOf(score)[1] || 1);

function headMap(view) {
  const { size, gap, left, top } = MAP, { layers, width } = view;
  const W = left + width * (size + gap), H = top + layers * (size + gap) + 4;
  const picture = svg("svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, role: "grid", "aria-label": "Map of all heads, layers down and heads across", style: `max-width:${Math.max(W * 1.25, 260)}px` });
  for (let h = 0; h < width; h++) picture.append(svg("text", { x: left + h * (size + gap) + size / 2, y: 15, "text-anchor": "middle", "font-size": 11.5 }, String(h)));
  picture.append(svg("text", { x: left - 10, y: 15, "text-anchor": "end", "font-size": 10 }, "L / H"));
  for (let l = 0; l < layers; l++) {
    const row = svg("g", { role: "row" });
    row.append(svg("text", { x: left - 10, y: top + l * (size + gap) + size / 2 + 4, "text-anchor": "end", "font-size": 11.5 }, String(l)));
    for (let h = 0; h < width; h++) view.cells.push(headCell(view, l, h));
    row.append(...view.cells.slice(l * width));
    picture.append(row);
  }
  return picture;
}

function headCell(view, l, h) {
  const { size, gap, left, top } = MAP, head = l * view.width + h, x = left + h * (size + gap), y = top + l * (size + gap);
  return svg("g", { class: "head", role: "gridcell", tabindex: head === view.head ? 0 : -1, "data-head": head, onclick: () => selectHead(view, head, true), onkeydown: (event) => moveHead(view, event, l, h) },
    svg("title"), svg("rect", { class: "tile", x, y, width: size, height: size, rx: 7 }), svg("image", { x: x + 4, y: y + 4, width: size - 8, height: size - 8 }));
}

function headChoices(view, picture) {
  const story = choose("Story", view.withAttention.map((s, i) => [i, s.title]), (value) => { showStory(view, Number(value)); tellStory(view.number(view.withAttention[view.story])); });
  view.storyField = story.select;
  const colour = choose("Colour by", [["role", "role"], ...view.heads.scores.map(({ label }) => [label, label])], (value) => { view.colour = value; paintHeads(view); }, "colour");
  return el("div", { class: "bar" }, story.field, colour.field, ...(view.withAttention.length ? firstTokens(view) : []), el("span", { class: "push" }), saveButton("heads", () => picture));
}

function headDetail(view) {
  view.direction = switchOf("Direction of attention", [["from", "looks at"], ["to", "is looked at by"]], (value) => { if (value === "to") tell("direction", value); else forget("direction"); });
  const bars = el("p", { class: "muted small" }, "A whole bar is 1, or the head that looks farthest; grey bars are below zero.");
  view.both = el("div", { class: "attention" }, el("div", {}, view.matrix, view.sheet, view.scale), el("div", {}, el("div", { class: "bar" }, view.direction.buttons), view.hint, view.text));
  return el("div", { class: "panel", id: "head-detail", "aria-live": "polite" }, view.about, view.withAttention.length ? headViews(view) : "", view.both, view.looks,
    view.measured, view.heads.scores.length ? bars : "");
}

// One head, all heads of its layer, or the large view.
function headViews(view) {
  view.layerField = choose("Show", [["head", "this head"], ["layer", "all heads of its layer"]], (value) => { if (value === "layer") tell("view", value); else forget("view"); });
  return el("div", { class: "bar" }, view.layerField.field, el("button", { type: "button", class: "plain", id: "head-large", onclick: () => tell("view", "large") }, "Enlarge"));
}

function moveHead(view, event, l, h) {
  const to = { ArrowLeft: [l, h - 1], ArrowRight: [l, h + 1], ArrowUp: [l - 1, h], ArrowDown: [l + 1, h], Home: [l, 0], End: [l, view.width - 1], Enter: [l, h], " ": [l, h] }[event.key];
  if (!to) return;
  event.preventDefault();
  selectHead(view, clamp(to[0], 0, view.layers - 1) * view.width + clamp(to[1], 0, view.width - 1), true);
}

// The reader chooses a head; where an address does, it is shown alone.
function selectHead(view, head, focus) {
  showHead(view, head);
  if (focus) view.cells[head].focus({ preventScroll: true });
  tell("head", `${Math.floor(head / view.width)}.${head % view.width}`);
}

function showHead(view, head) {
  view.cells[view.head].setAttribute("tabindex", -1);
  view.cells[view.head].removeAttribute("aria-selected");
  view.head = head;
  view.cells[head].setAttribute("tabindex", 0);
  view.cells[head].setAttribute("aria-selected", "true");
  showEvidence(view);
  showAttention(view);
}

function paintHeads(view) {
  const { heads } = view, score = heads.scores.find(({ label }) => label === view.colour);
  const [low, high] = score ? rangeOf(score) : [];
  view.cells.forEach((cell, h) => {
    const tile = cell.querySelector("rect"), role = heads.role[h];
    const shade = score ? clamp((score.values[h] - low) / (high - low || 1), 0, 1) || 0 : 1;
    tile.style.fill = score ? "rgb(var(--mark))" : roleColour(heads, role);
    tile.style.fillOpacity = score ? 0.08 + 0.92 * shade : 1;
    cell.querySelector("title").textContent = `${headName(view, h)}: ${score ? `${score.label} ${number(score.values[h])}` : heads.roles[role].name}`;
    cell.setAttribute("aria-label", `${headName(view, h)}: ${heads.roles[role].name}`);
    cell.classList.toggle("dim", !score && view.lit !== null && role !== view.lit);
    cell.querySelector("image").style.opacity = score ? 0.0 : 0.95;
  });
  view.legend.replaceChildren(...(score ? [scoreLegend(score, low, high)] : roleLegend(view)));
}

function scoreLegend(score, low, high) {
  return el("li", { class: "small" }, `${score.label}: ${number(low)} `, ramp(), ` ${number(high)}`, score.help ? el("div", { class: "muted" }, score.help) : null);
}

function roleLegend(view) {
  const { heads } = view;
  return heads.roles.map((role, r) => [role, r, heads.role.filter((x) => x === r).length]).filter(([, , n]) => n).map(([role, r, n]) => el("li", {}, el("button", {
    type: "button", title: role.meaning, "aria-pressed": String(view.lit === r), onclick: () => { if (view.lit === r) forget("role"); else tell("role", role.name); },
  }, el("i", { style: `background:${roleColour(heads, r)}` }), role.name, el("span", {}, beside(n, role.twins)))));
}

// A small picture of each head's pattern in white on its tile: the largest weight of each block of tokens.
function drawThumbnails(view) {
  const story = view.withAttention[view.story];
  if (!story) return;
  const n = tokensShown(view), side = Math.min(n, 38), canvas = el("canvas", { width: side, height: side }), pen = canvas.getContext("2d");
  view.cells.forEach((cell, head) => {
    const image = pen.createImageData(side, side), base = beginOf(story, head);
    for (let i = 0, at = base; i < n; i++) for (let j = 0; j <= i; j++, at++) {
      const pixel = 4 * (Math.floor((i * side) / n) * side + Math.floor((j * side) / n));
      image.data.fill(255, pixel, pixel + 3);
      image.data[pixel + 3] = Math.max(image.data[pixel + 3], story.attention[at]);
    }
    pen.putImageData(image, 0, 0);
    const picture = cell.querySelector("image");
    picture.setAttribute("href", canvas.toDataURL());
    picture.style.imageRendering = side < 38 ? "pixelated" : "auto";
  });
}

function showEvidence(view) {
  const { heads, head } = view, role = heads.role[head];
  view.about.replaceChildren(
    el("h3", {}, `${headName(view, head)} `, el("span", { class: "chip" }, el("i", { style: `background:${roleColour(heads, role)}` }), heads.roles[role].name)),
    el("p", { class: "muted small" }, explained(heads.roles[role].meaning)),
    heads.causes ? el("p", { class: "small", id: "head-cause" }, explained(heads.causes.split("\n")[head])) : "",
  );
  view.measured.replaceChildren(...heads.scores.map((s) => {
    const value = s.values[head] ?? NaN, interval = s.low ? ` [${number(s.low[head] ?? NaN)}, ${number(s.high[head] ?? NaN)}]` : "";
    return el("li", { title: s.help }, el("span", {}, s.label), el("b", {}, number(value), el("span", { class: "muted", style: "font-weight:400" }, interval)),
      el("div", { class: "meter" }, el("div", { class: value < 0 ? "minus" : null, style: `width:${(100 * clamp(Math.abs(value) / fullOf(s), 0, 1) || 0).toFixed(1)}%` })));
  }));
}

const ramp = () => el("span", { class: "ramp", style: "background:linear-gradient(90deg, rgb(var(--mark) / .08), rgb(var(--mark)))" });
