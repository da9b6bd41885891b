// The map of all heads by role, and the attention of the chosen head on the chosen story.

const GREY = "#aeb4bc"; // of heads without a role

function headsSection({ heads, stories, vocabulary }) {
  const [layers, width] = heads.shape, count = layers * width;
  const colourOf = (role) => (heads.roles[role].unresolved ? GREY : heads.roles[role].colour);
  const state = { head: heads.start, story: 0, colour: "role", lit: null, token: null, from: true };
  const label = (h) => `Layer ${Math.floor(h / width)}, head ${h % width}`;
  const rangeOf = (s) => { const finite = s.values.filter(Number.isFinite); return [Math.min(0, ...finite), Math.max(0, ...finite)]; };
  // What a whole bar stands for: 1, or of what is no share the most that any head has.
  const fullOf = (s) => (s.share ? 1 : rangeOf(s)[1] || 1);
  const withAttention = stories.filter((s) => s.attention);

  const size = 46, gap = 5, left = 34, top = 26;
  const W = left + width * (size + gap), H = top + layers * (size + gap) + 4;
  const picture = svg("svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, role: "grid", "aria-label": "Map of all heads, layers down and heads across", style: `max-width:${Math.max(W * 1.25, 260)}px` });
  for (let h = 0; h < width; h++) picture.append(svg("text", { x: left + h * (size + gap) + size / 2, y: 15, "text-anchor": "middle", "font-size": 11.5 }, String(h)));
  picture.append(svg("text", { x: left - 10, y: 15, "text-anchor": "end", "font-size": 10 }, "L / H"));
  const cells = [];
  for (let l = 0; l < layers; l++) {
    const row = svg("g", { role: "row" });
    row.append(svg("text", { x: left - 10, y: top + l * (size + gap) + size / 2 + 4, "text-anchor": "end", "font-size": 11.5 }, String(l)));
    for (let h = 0; h < width; h++) {
      const head = l * width + h, x = left + h * (size + gap), y = top + l * (size + gap);
      const cell = svg("g", { class: "head", role: "gridcell", tabindex: head === state.head ? 0 : -1, "data-head": head, onclick: () => select(head, true), onkeydown: (e) => move(e, head) },
        svg("title"), svg("rect", { class: "tile", x, y, width: size, height: size, rx: 7 }), svg("image", { x: x + 4, y: y + 4, width: size - 8, height: size - 8 }));
      cells.push(cell);
      row.append(cell);
    }
    picture.append(row);
  }

  const legend = el("ul", { class: "legend", "aria-label": "Roles: press one to see it alone" }), detail = el("div", { class: "panel", id: "head-detail", "aria-live": "polite" });
  const matrix = el("div", { class: "matrix", id: "head-matrix", role: "img" }), scale = el("p", { class: "muted small" }), text = el("p", { class: "text" }), about = el("div"), measured = el("ul", { class: "scores", "aria-label": "What was measured of this head" });
  const bars = el("p", { class: "muted small" }, "A whole bar is 1, or the head that looks farthest; grey bars are below zero.");
  const storyChoice = choose("Story", withAttention.map((s, i) => [i, s.title]), (value) => { state.story = Number(value); state.token = null; thumbnails(); attention(); });
  const colourChoice = choose("Colour by", [["role", "role"], ...heads.scores.map((s, i) => [i, s.label])], (value) => { state.colour = value; paint(); });
  const direction = switchOf("Direction of attention", [["from", "looks at"], ["to", "is looked at by"]], (value) => { state.from = value === "from"; highlight(); });
  const hint = el("p", { class: "muted small" });

  byId("heads-view").append(
    el("div", { class: "bar" }, storyChoice.field, colourChoice.field, el("span", { class: "push" }), saveButton("heads", () => picture)),
    el("div", { class: "heads" }, el("div", { class: "panel" }, picture, legend), detail));
  detail.append(about, el("div", { class: "attention" }, el("div", {}, matrix, scale), el("div", {}, el("div", { class: "bar" }, direction), hint, text)), measured, heads.scores.length ? bars : "");

  function move(event, head) {
    const l = Math.floor(head / width), h = head % width;
    const to = { ArrowLeft: [l, h - 1], ArrowRight: [l, h + 1], ArrowUp: [l - 1, h], ArrowDown: [l + 1, h], Home: [l, 0], End: [l, width - 1], Enter: [l, h], " ": [l, h] }[event.key];
    if (!to) return;
    event.preventDefault();
    select(clamp(to[0], 0, layers - 1) * width + clamp(to[1], 0, width - 1), true);
  }

  function select(head, focus) {
    cells[state.head].setAttribute("tabindex", -1);
    cells[state.head].removeAttribute("aria-selected");
    state.head = head;
    cells[head].setAttribute("tabindex", 0);
    cells[head].setAttribute("aria-selected", "true");
    if (focus) cells[head].focus({ preventScroll: true });
    evidence();
    attention();
  }

  function paint() {
    const score = state.colour === "role" ? null : heads.scores[Number(state.colour)];
    const [low, high] = score ? rangeOf(score) : [];
    cells.forEach((cell, h) => {
      const tile = cell.querySelector("rect"), role = heads.role[h];
      const shade = score ? clamp((score.values[h] - low) / (high - low || 1), 0, 1) || 0 : 1;
      tile.style.fill = score ? "rgb(var(--mark))" : colourOf(role);
      tile.style.fillOpacity = score ? 0.08 + 0.92 * shade : 1;
      cell.querySelector("title").textContent = `${label(h)}: ${score ? `${score.label} ${number(score.values[h])}` : heads.roles[role].name}`;
      cell.setAttribute("aria-label", `${label(h)}: ${heads.roles[role].name}`);
      cell.classList.toggle("dim", !score && state.lit !== null && role !== state.lit);
      cell.querySelector("image").style.opacity = score ? 0.0 : 0.95;
    });
    legend.replaceChildren(...(score ? [el("li", { class: "small" }, `${score.label}: ${number(low)} `, ramp(), ` ${number(high)}`, score.help ? el("div", { class: "muted" }, score.help) : null)] :
      heads.roles.map((role, r) => [role, r, heads.role.filter((x) => x === r).length]).filter(([, , n]) => n).map(([role, r, n]) => el("li", {}, el("button", {
        type: "button", title: role.meaning, "aria-pressed": String(state.lit === r), onclick: () => { state.lit = state.lit === r ? null : r; paint(); },
      }, el("i", { style: `background:${colourOf(r)}` }), role.name, el("span", {}, String(n)))))));
  }

  // A small picture of each head's pattern in white on its tile: the largest weight of each block of tokens.
  function thumbnails() {
    const story = withAttention[state.story];
    if (!story) return;
    const n = story.attended, side = Math.min(n, 38), canvas = el("canvas", { width: side, height: side }), pen = canvas.getContext("2d");
    for (let head = 0; head < count; head++) {
      const image = pen.createImageData(side, side), base = (head * n * (n + 1)) / 2;
      for (let i = 0, at = base; i < n; i++) for (let j = 0; j <= i; j++, at++) {
        const pixel = 4 * (Math.floor((i * side) / n) * side + Math.floor((j * side) / n));
        image.data.fill(255, pixel, pixel + 3);
        image.data[pixel + 3] = Math.max(image.data[pixel + 3], story.attention[at]);
      }
      pen.putImageData(image, 0, 0);
      const picture = cells[head].querySelector("image");
      picture.setAttribute("href", canvas.toDataURL());
      picture.style.imageRendering = side < 38 ? "pixelated" : "auto";
    }
  }

  function evidence() {
    const h = state.head, role = heads.role[h];
    about.replaceChildren(
      el("h3", {}, `${label(h)} `, el("span", { class: "chip" }, el("i", { style: `background:${colourOf(role)}` }), heads.roles[role].name)),
      el("p", { class: "muted small" }, heads.roles[role].meaning),
    );
    measured.replaceChildren(...heads.scores.map((s) => {
      const value = s.values[h] ?? NaN, interval = s.low ? ` [${number(s.low[h] ?? NaN)}, ${number(s.high[h] ?? NaN)}]` : "";
      return el("li", { title: s.help }, el("span", {}, s.label), el("b", {}, number(value), el("span", { class: "muted", style: "font-weight:400" }, interval)),
        el("div", { class: "meter" }, el("div", { class: value < 0 ? "minus" : null, style: `width:${(100 * clamp(Math.abs(value) / fullOf(s), 0, 1) || 0).toFixed(1)}%` })));
    }));
  }

  function attention() {
    const story = withAttention[state.story];
    if (!story) { hint.textContent = "No attention pattern fitted into this page."; return; }
    const tokens = Array.from(story.tokens.subarray(0, story.attended), (t) => vocabulary[t]);
    state.rows = attentionRows(story, state.head);
    // The full colour stands for a weight that one place in fifty reaches, so that spread attention is seen too.
    const weights = state.rows.slice(4).flat().sort((a, b) => a - b), darkest = clamp(weights[Math.floor(0.98 * weights.length)] ?? 1, 0.02, 1);
    drawMatrix(`${state.story}`, tokens, state.rows, darkest);
    scale.textContent = `Rows look at columns. Full colour: a weight of ${darkest.toFixed(2)} or more.`;
    matrix.setAttribute("aria-label", `Attention matrix of ${label(state.head).toLowerCase()}; the text beside it says the same token by token`);
    text.replaceChildren(...tokens.map((t, i) => el("span", { class: i === 0 ? "t bos" : "t", "data-i": i }, visible(t) === t ? t : visible(t) + (t.includes("\n") ? "\n" : ""))));
    if (state.token === null) state.token = tokens.length - 1;
    highlight();
  }

  function highlight() {
    const rows = state.rows, at = state.token;
    if (!rows) return;
    const weights = Array.from(text.children, (_, i) => (state.from ? (i <= at ? rows[at][i] : null) : i >= at ? rows[i][at] : null));
    Array.from(text.children).forEach((span, i) => {
      span.style.setProperty("--a", weights[i] === null ? 0 : Math.sqrt(weights[i]).toFixed(3));
      span.classList.toggle("at", i === at);
      span.classList.toggle("later", weights[i] === null);
      span.title = weights[i] === null ? "" : percent(weights[i]);
    });
    const best = weights.map((w, i) => [w ?? -1, i]).sort((a, b) => b[0] - a[0]).filter(([w]) => w > 0.005).slice(0, 3);
    const named = (i) => `“${text.children[i].textContent.trim() || "␣"}” (${i})`;
    hint.textContent = `${named(at)} ${state.from ? "looks at" : "is looked at by"} ` +
      (best.map(([w, i]) => `${named(i)} ${percent(w, 0)}`).join(", ") || "nothing much") + ".";
  }

  // One tab stop for the whole text; the pointer or the arrow keys choose the token.
  text.setAttribute("tabindex", 0);
  text.setAttribute("aria-label", "Story: choose a token with the arrow keys to see where this head looks from it");
  const point = (event) => { const i = event.target.dataset?.i; if (i !== undefined && Number(i) !== state.token) { state.token = Number(i); highlight(); } };
  text.addEventListener("pointerover", point);
  text.addEventListener("click", point);
  text.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { state.token = clamp(state.token + step, 0, text.children.length - 1); highlight(); event.preventDefault(); }
  });

  thumbnails();
  paint();
  select(state.head, false);
}

const ramp = () => el("span", { class: "ramp", style: "background:linear-gradient(90deg, rgb(var(--mark) / .08), rgb(var(--mark)))" });

// CircuitsVis mounts a component into an element but hands out no way to change or remove it, so the component mounted
// here is our own: it shows CircuitsVis's AttentionPattern with whatever properties it was last given. AttentionPattern
// draws its text on a canvas; AttentionPatterns would set tokens as markup. Rows that end at the diagonal draw the
// causal half alone.
let showPattern = null;
function drawMatrix(key, tokens, rows, darkest) {
  const names = tokens.map((t) => visible(t)).map((t) => (t.length > 12 ? `${t.slice(0, 11)}…` : t));
  const props = { tokens: names, attention: rows.map((row) => row.map((p) => Math.round(p * 1e4) / 1e4)), minValue: -1, maxValue: darkest, positiveColor: "#0072b2", negativeColor: "#d55e00" };
  if (showPattern) return showPattern({ key, props });
  class Host {
    constructor(given) { this.props = given; this.state = given.first; showPattern = (next) => this.updater.enqueueSetState(this, next); }
    render() { return { ...CircuitsVis.Hello({ name: "" }), type: CircuitsVis.AttentionPattern, key: this.state.key, props: this.state.props }; }
  }
  Host.prototype.isReactComponent = {};
  CircuitsVis.render("head-matrix", Host, { first: { key, props } });
}
