// What each layer would say next, at every token of a story: the logit lens as a heat map.

const CELL = { width: 66, height: 25, names: 64, top: 46 }; // of the heat map, with room for layers' names and tokens
const ABREAST = 12; // tokens side by side on paper
const MODES = { top: "probability of the layer's own guess", next: "probability of the true next token", rank: "rank of the true next token", entropy: "entropy, in nats" };

// Every function below takes `view`: the section's data, what is chosen in it, and the nodes that change.
function lensSection({ lens, stories, vocabulary }) {
  for (const story of lens.stories) for (const key of ["probability", "next"]) story[key] = story[key].map((root) => root * root);
  const view = {
    lens, stories, vocabulary, story: 0, by: "top", at: null, cells: [], picture: null, rowNames: null,
    dark: matchMedia("(prefers-color-scheme: dark)"),
    names: el("div"), scroller: el("div", { class: "cells" }), strips: el("div", { class: "strips" }),
    side: el("div", { class: "lens-side", id: "lens-readout", "aria-live": "polite" }), key: el("p", { class: "muted small key" }),
  };
  const story = choose("Story", lens.stories.map((s, i) => [i, stories[s.story].title]), (value) => { view.story = Number(value); drawLens(view); tellStory(storyLens(view).story); });
  const by = choose("Colour by", Object.entries(MODES), (value) => { view.by = value; shadeCells(view); }, "shade");
  byId("lens-view").append(el("div", { class: "bar" }, story.field, by.field, el("span", { class: "push" }), saveButton("lens", () => wholeLens(view))),
    el("div", { class: "panel" }, view.strips, el("div", { class: "lens" }, view.names, view.scroller), view.key, view.side));
  view.dark.addEventListener("change", () => shadeCells(view));
  addEventListener("beforeprint", () => cutStrips(view));
  addEventListener("afterprint", () => view.strips.replaceChildren());
  drawLens(view);
  followPlaces(view, story.select);
}

// A story by its place among all, a token by its place in the story, a layer by its name.
function followPlaces(view, select) {
  const places = () => storyLens(view).places, show = (row, place) => { const i = row * places() + place; if (i !== view.at) readCell(view, i); };
  follow("story", (value) => {
    const found = view.lens.stories.findIndex((l) => String(l.story) === value), story = value === null ? 0 : found;
    if (story === -1 || story === view.story) return;
    select.value = String(story);
    view.story = story;
    drawLens(view);
  });
  follow("token", (value) => {
    if (value !== null && chosen.get("story") !== String(storyLens(view).story)) return;
    show(Math.floor(view.at / places()), /^\d+$/.test(value) && Number(value) < places() ? Number(value) : firstPlace(view));
  });
  follow("layer", (value) => show(view.lens.depths.includes(value) ? view.lens.depths.indexOf(value) : view.lens.depths.length - 1, view.at % places()));
}

// The reader chose a cell.
function chooseCell(view, i) {
  readCell(view, i);
  const l = storyLens(view);
  tellStory(l.story);
  tell("token", i % l.places);
  tell("layer", view.lens.depths[Math.floor(i / l.places)]);
}

const short = (text, n = 8) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
const tokenName = ({ vocabulary }, t) => visible(vocabulary[t]).trim() || visible(vocabulary[t]).replace(/ /g, "␣");
// The token whose lens is read first: one with some words before it.
const firstPlace = (view) => Math.min(storyLens(view).places - 1, 4);
// The chosen story's lens, and its tokens.
const storyLens = (view) => view.lens.stories[view.story];
const storyTokens = (view) => view.stories[storyLens(view).story].tokens;

function drawLens(view) {
  const { width: W, height: H, names, top } = CELL, rows = view.lens.depths.length, n = storyLens(view).places, height = top + rows * H + 4;
  view.rowNames = svg("svg", { width: names, height, viewBox: `0 0 ${names} ${height}`, "aria-hidden": "true" });
  for (const [y, text] of [[14, "token"], [33, "next"]]) view.rowNames.append(svg("text", { x: names - 8, y, "text-anchor": "end", "font-size": 11, fill: "var(--muted)" }, text));
  view.picture = svg("svg", { width: n * W, height, viewBox: `0 0 ${n * W} ${height}`, role: "grid", "aria-label": "Logit lens: layers up, tokens across" });
  const all = svg("g", { id: "lens-cells" }, lensTokens(view));
  view.picture.append(all);
  view.cells = [];
  for (let r = 0; r < rows; r++) {
    const y = top + (rows - 1 - r) * H, cells = Array.from({ length: n }, (_, p) => lensCell(view, r, p, y));
    view.rowNames.append(svg("text", { x: names - 8, y: y + 17, "text-anchor": "end", "font-size": 11.5, fill: "var(--muted)" }, view.lens.depths[r]));
    view.cells.push(...cells);
    all.append(svg("g", { role: "row" }, cells));
  }
  chooseCells(view, rows, n);
  view.names.replaceChildren(view.rowNames);
  view.scroller.replaceChildren(view.picture);
  view.at = null;
  shadeCells(view);
  readCell(view, (rows - 1) * n + firstPlace(view));
}

// Above the cells: every token, and the one after it.
function lensTokens(view) {
  const W = CELL.width, tokens = storyTokens(view);
  return Array.from({ length: storyLens(view).places }, (_, p) => [
    svg("text", { x: p * W + W / 2, y: 14, "text-anchor": "middle", "font-size": 12.5, "font-weight": 600, fill: "var(--ink)" }, short(p === 0 ? "start" : tokenName(view, tokens[p]))),
    svg("text", { x: p * W + W / 2, y: 33, "text-anchor": "middle", "font-size": 11.5, fill: "var(--muted)" }, short(p + 1 < tokens.length ? tokenName(view, tokens[p + 1]) : "")),
  ]).flat();
}

function lensCell(view, r, p, y) {
  const { width: W, height: H } = CELL, { lens } = view, l = storyLens(view), i = r * l.places + p, guess = tokenName(view, l.top[i * lens.k]);
  return svg("g", { class: "cell", role: "gridcell", tabindex: -1, "data-i": i, "aria-label": `${lens.depths[r]}, after ${tokenName(view, storyTokens(view)[p])}: ${guess} ${percent(l.probability[i * lens.k])}` },
    svg("rect", { x: p * W + 1, y: y + 1, width: W - 2, height: H - 2, rx: 4 }), svg("text", { x: p * W + W / 2, y: y + 17, "text-anchor": "middle", "font-size": 12 }, short(guess)));
}

// The pointer or the arrow keys choose the cell that is read out.
function chooseCells(view, rows, n) {
  const choosing = (event) => { const cell = event.target.closest?.(".cell"); if (cell) chooseCell(view, Number(cell.dataset.i)); };
  view.picture.addEventListener("pointerover", choosing);
  view.picture.addEventListener("click", choosing);
  view.picture.addEventListener("keydown", (event) => {
    const r = Math.floor(view.at / n), p = view.at % n;
    const to = { ArrowLeft: [r, p - 1], ArrowRight: [r, p + 1], ArrowUp: [r + 1, p], ArrowDown: [r - 1, p], Home: [r, 0], End: [r, n - 1] }[event.key];
    if (!to) return;
    event.preventDefault();
    chooseCell(view, clamp(to[0], 0, rows - 1) * n + clamp(to[1], 0, n - 1));
    view.cells[view.at].focus();
  });
}

function shadeCells(view) {
  const { lens, by } = view, l = storyLens(view), deepest = Math.log(lens.vocabulary);
  const of = { top: (i) => l.probability[i * lens.k], next: (i) => l.next[i], rank: (i) => (l.rank[i] === 0 ? NaN : 1 - Math.log(l.rank[i]) / deepest), entropy: (i) => 1 - l.entropy[i] / deepest }[by];
  const textFill = (s) => (s > (view.dark.matches ? 0.6 : 0.75) ? "var(--panel)" : "var(--ink)"); // where the contrasts meet
  view.cells.forEach((cell, i) => {
    const value = of(i), s = Number.isFinite(value) ? clamp(value, 0, 1) : 0;
    cell.firstChild.setAttribute("style", `fill:rgb(var(--mark) / ${(0.04 + 0.96 * s).toFixed(3)})`);
    cell.lastChild.setAttribute("style", `fill:${textFill(s)}`);
  });
  const [from, to] = { top: ["0", "1"], next: ["0", "1"], rank: [`rank ${lens.vocabulary.toLocaleString("en")}`, "rank 1"], entropy: [`${deepest.toFixed(1)} nats`, "0 nats"] }[by];
  view.key.replaceChildren(`Colour: ${MODES[by]}, ${from} `, ramp(), ` ${to}. Each cell names the layer's best guess for the next token.`);
}

function readCell(view, i) {
  const { cells } = view;
  if (view.at !== null) { cells[view.at].classList.remove("at"); cells[view.at].setAttribute("tabindex", -1); }
  view.at = i;
  cells[i].classList.add("at");
  cells[i].setAttribute("tabindex", 0);
  const p = i % storyLens(view).places, tokens = storyTokens(view), truth = p + 1 < tokens.length ? tokens[p + 1] : null;
  view.side.replaceChildren(cellContext(view, i, p, truth), cellGuesses(view, i, truth));
}

// Where the chosen cell is, in the model and in the story, and how it rates the true next token.
function cellContext(view, i, p, truth) {
  const { lens, vocabulary } = view, l = storyLens(view), r = Math.floor(i / l.places), tokens = storyTokens(view), rank = l.rank[i];
  const before = Array.from(tokens.subarray(Math.max(1, p - 11), p), (t) => vocabulary[t]).join(""), here = p === 0 ? "start of story" : vocabulary[tokens[p]];
  return el("div", {}, el("h3", {}, lens.depths[r] === "embed" ? "From the embedding alone" : `After block ${lens.depths[r]}${r === lens.depths.length - 1 ? ": the model’s own answer" : ""}`),
    el("p", { class: "context" }, p > 12 ? "… " : "", visible(before), el("mark", {}, visible(here)), truth === null ? "" : [" ", el("span", { class: "muted" }, `→ ${tokenName(view, truth)}`)]),
    el("p", { class: "small muted" }, truth === null || rank === 0 ? "The story goes on, unseen." : `The true next token “${tokenName(view, truth)}” has rank ${rank.toLocaleString("en")} with probability ${percent(l.next[i], l.next[i] < 0.001 ? 3 : 1)}. `, `Entropy ${l.entropy[i].toFixed(2)} nats.`));
}

function cellGuesses(view, i, truth) {
  const { k, stories } = view.lens, { top, probability } = stories[view.story];
  return el("div", {}, Array.from({ length: k }, (_, rank) => {
    const t = top[i * k + rank], share = probability[i * k + rank];
    return el("div", { class: t === truth ? "guess true" : "guess" }, el("span", { class: "word" }, visible(view.vocabulary[t])), el("div", { class: "meter" }, el("div", { style: `width:${(100 * share).toFixed(2)}%` })), el("span", {}, percent(share)));
  }));
}

// On paper nothing scrolls: the same cells in strips, one under another, for as long as it is printed.
function cutStrips(view) {
  const { width: W, names } = CELL, n = storyLens(view).places, width = ABREAST * W, height = view.picture.viewBox.baseVal.height;
  for (let p = 0; p < n; p += ABREAST) {
    view.strips.append(svg("svg", { viewBox: `0 0 ${names + width} ${height}` }, svg("g", {}, [...view.rowNames.cloneNode(true).children]),
      svg("svg", { x: names, width, height, viewBox: `${p * W} 0 ${width} ${height}` }, svg("use", { href: "#lens-cells" }))));
  }
}

// Names of layers and cells as one picture, for saving: laid out in the page for as long as its style is read.
function wholeLens(view) {
  const box = view.picture.viewBox.baseVal, both = svg("svg", { viewBox: `0 0 ${box.width + CELL.names} ${box.height}`, style: "position:absolute;left:-99999px" });
  both.append(svg("g", {}, [...view.rowNames.cloneNode(true).children]), svg("g", { transform: `translate(${CELL.names} 0)` }, [...view.picture.cloneNode(true).children]));
  byId("lens-view").append(both);
  requestAnimationFrame(() => both.remove());
  return both;
}
