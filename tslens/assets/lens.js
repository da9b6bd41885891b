// What each layer would say next, at every token of a story: the logit lens as a heat map.

function lensSection({ lens, stories, vocabulary }) {
  const state = { story: 0, by: "top", at: null };
  for (const story of lens.stories) for (const key of ["probability", "next"]) story[key] = story[key].map((root) => root * root);
  const W = 66, H = 25, labels = 64, top = 46, abreast = 12; // tokens side by side on paper
  const modes = { top: "probability of the layer's own guess", next: "probability of the true next token", rank: "rank of the true next token", entropy: "entropy, in nats" };
  const storyChoice = choose("Story", lens.stories.map((s, i) => [i, stories[s.story].title]), (value) => { state.story = Number(value); draw(); });
  const byChoice = choose("Colour by", Object.entries(modes), (value) => { state.by = value; shade(); });
  const names = el("div"), scroller = el("div", { class: "cells" }), strips = el("div", { class: "strips" }), side = el("div", { class: "lens-side", id: "lens-readout", "aria-live": "polite" }), key = el("p", { class: "muted small key" });
  byId("lens-view").append(el("div", { class: "bar" }, storyChoice.field, byChoice.field, el("span", { class: "push" }), saveButton("lens", whole)),
    el("div", { class: "panel" }, strips, el("div", { class: "lens" }, names, scroller), key, side));
  let cells = [], picture, rowNames;

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => shade());
  const textFill = (s) => (s > (dark.matches ? 0.6 : 0.75) ? "var(--panel)" : "var(--ink)"); // where the contrasts meet
  const short = (text, n = 8) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
  const shown = (t) => visible(vocabulary[t]).trim() || visible(vocabulary[t]).replace(/ /g, "␣");

  function draw() {
    const l = lens.stories[state.story], rows = lens.depths.length, n = l.places, tokens = stories[l.story].tokens;
    const height = top + rows * H + 4;
    rowNames = svg("svg", { width: labels, height, viewBox: `0 0 ${labels} ${height}`, "aria-hidden": "true" });
    rowNames.append(svg("text", { x: labels - 8, y: 14, "text-anchor": "end", "font-size": 11, fill: "var(--muted)" }, "token"), svg("text", { x: labels - 8, y: 33, "text-anchor": "end", "font-size": 11, fill: "var(--muted)" }, "next"));
    picture = svg("svg", { width: n * W, height, viewBox: `0 0 ${n * W} ${height}`, role: "grid", "aria-label": "Logit lens: layers up, tokens across" });
    const all = svg("g", { id: "lens-cells" });
    picture.append(all);
    for (let p = 0; p < n; p++) {
      all.append(svg("text", { x: p * W + W / 2, y: 14, "text-anchor": "middle", "font-size": 12.5, "font-weight": 600, fill: "var(--ink)" }, short(p === 0 ? "start" : shown(tokens[p]))),
        svg("text", { x: p * W + W / 2, y: 33, "text-anchor": "middle", "font-size": 11.5, fill: "var(--muted)" }, short(p + 1 < tokens.length ? shown(tokens[p + 1]) : "")));
    }
    cells = [];
    for (let r = 0; r < rows; r++) {
      const y = top + (rows - 1 - r) * H, row = svg("g", { role: "row" });
      rowNames.append(svg("text", { x: labels - 8, y: y + 17, "text-anchor": "end", "font-size": 11.5, fill: "var(--muted)" }, lens.depths[r]));
      for (let p = 0; p < n; p++) {
        const i = r * n + p, guess = l.top[i * lens.k];
        const cell = svg("g", { class: "cell", role: "gridcell", tabindex: -1, "data-i": i, "aria-label": `${lens.depths[r]}, after ${shown(tokens[p])}: ${shown(guess)} ${percent(l.probability[i * lens.k])}` },
          svg("rect", { x: p * W + 1, y: y + 1, width: W - 2, height: H - 2, rx: 4 }), svg("text", { x: p * W + W / 2, y: y + 17, "text-anchor": "middle", "font-size": 12 }, short(shown(guess))));
        cells.push(cell);
        row.append(cell);
      }
      all.append(row);
    }
    const choosing = (event) => { const cell = event.target.closest?.(".cell"); if (cell) read(Number(cell.dataset.i)); };
    picture.addEventListener("pointerover", choosing);
    picture.addEventListener("click", choosing);
    picture.addEventListener("keydown", (event) => {
      const r = Math.floor(state.at / n), p = state.at % n;
      const to = { ArrowLeft: [r, p - 1], ArrowRight: [r, p + 1], ArrowUp: [r + 1, p], ArrowDown: [r - 1, p], Home: [r, 0], End: [r, n - 1] }[event.key];
      if (!to) return;
      event.preventDefault();
      read(clamp(to[0], 0, rows - 1) * n + clamp(to[1], 0, n - 1));
      cells[state.at].focus();
    });
    names.replaceChildren(rowNames);
    scroller.replaceChildren(picture);
    state.at = null;
    shade();
    read((rows - 1) * n + Math.min(n - 1, 4));
  }

  function shade() {
    const l = lens.stories[state.story], deepest = Math.log(lens.vocabulary);
    const of = { top: (i) => l.probability[i * lens.k], next: (i) => l.next[i], rank: (i) => (l.rank[i] === 0 ? NaN : 1 - Math.log(l.rank[i]) / deepest), entropy: (i) => 1 - l.entropy[i] / deepest }[state.by];
    cells.forEach((cell, i) => {
      const value = of(i), s = Number.isFinite(value) ? clamp(value, 0, 1) : 0;
      cell.firstChild.setAttribute("style", `fill:rgb(var(--mark) / ${(0.04 + 0.96 * s).toFixed(3)})`);
      cell.lastChild.setAttribute("style", `fill:${textFill(s)}`);
    });
    const [from, to] = { top: ["0", "1"], next: ["0", "1"], rank: [`rank ${lens.vocabulary.toLocaleString("en")}`, "rank 1"], entropy: [`${deepest.toFixed(1)} nats`, "0 nats"] }[state.by];
    key.replaceChildren(`Colour: ${modes[state.by]}, ${from} `, ramp(), ` ${to}. Each cell names the layer's best guess for the next token.`);
  }

  function read(i) {
    const l = lens.stories[state.story], n = l.places, r = Math.floor(i / n), p = i % n, tokens = stories[l.story].tokens;
    if (state.at !== null) { cells[state.at].classList.remove("at"); cells[state.at].setAttribute("tabindex", -1); }
    state.at = i;
    cells[i].classList.add("at");
    cells[i].setAttribute("tabindex", 0);
    const before = Array.from(tokens.subarray(Math.max(1, p - 11), p), (t) => vocabulary[t]).join(""), here = p === 0 ? "start of story" : vocabulary[tokens[p]];
    const truth = p + 1 < tokens.length ? tokens[p + 1] : null, rank = l.rank[i];
    const left = el("div", {}, el("h3", {}, lens.depths[r] === "embed" ? "From the embedding alone" : `After block ${lens.depths[r]}${r === lens.depths.length - 1 ? ": the model’s own answer" : ""}`),
      el("p", { class: "context" }, p > 12 ? "… " : "", visible(before), el("mark", {}, visible(here)), truth === null ? "" : [" ", el("span", { class: "muted" }, `→ ${shown(truth)}`)]),
      el("p", { class: "small muted" }, truth === null || rank === 0 ? "The story goes on, unseen." : `The true next token “${shown(truth)}” has rank ${rank.toLocaleString("en")} with probability ${percent(l.next[i], l.next[i] < 0.001 ? 3 : 1)}. `, `Entropy ${l.entropy[i].toFixed(2)} nats.`));
    const right = el("div", {});
    for (let k = 0; k < lens.k; k++) {
      const t = l.top[i * lens.k + k], share = l.probability[i * lens.k + k];
      right.append(el("div", { class: t === truth ? "guess true" : "guess" }, el("span", { class: "word" }, visible(vocabulary[t])), el("div", { class: "meter" }, el("div", { style: `width:${(100 * share).toFixed(2)}%` })), el("span", {}, percent(share))));
    }
    side.replaceChildren(left, right);
  }

  // On paper nothing scrolls: the same cells in strips, one under another, for as long as it is printed.
  addEventListener("beforeprint", () => {
    const n = lens.stories[state.story].places, width = abreast * W, height = picture.viewBox.baseVal.height;
    for (let p = 0; p < n; p += abreast) {
      strips.append(svg("svg", { viewBox: `0 0 ${labels + width} ${height}` }, svg("g", {}, [...rowNames.cloneNode(true).children]),
        svg("svg", { x: labels, width, height, viewBox: `${p * W} 0 ${width} ${height}` }, svg("use", { href: "#lens-cells" }))));
    }
  });
  addEventListener("afterprint", () => strips.replaceChildren());

  // Names of layers and cells as one picture, for saving: laid out in the page for as long as its style is read.
  function whole() {
    const box = picture.viewBox.baseVal, both = svg("svg", { viewBox: `0 0 ${box.width + labels} ${box.height}`, style: "position:absolute;left:-99999px" });
    both.append(svg("g", {}, [...rowNames.cloneNode(true).children]), svg("g", { transform: `translate(${labels} 0)` }, [...picture.cloneNode(true).children]));
    byId("lens-view").append(both);
    requestAnimationFrame(() => both.remove());
    return both;
  }

  draw();
}
