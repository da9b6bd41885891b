// The attention of the chosen head over the first tokens of the chosen story: as a matrix, and token by token.

function showAttention(view) {
  const story = view.withAttention[view.story];
  if (!story) { view.hint.textContent = "No attention pattern fitted into this page."; return; }
  const n = tokensShown(view), tokens = Array.from(story.tokens.subarray(0, n), (t) => view.vocabulary[t]);
  view.rows = attentionRows(story, view.head, n);
  // The full colour stands for a weight that one place in fifty reaches, so that spread attention is seen too.
  const weights = view.rows.slice(4).flat().sort((a, b) => a - b), darkest = clamp(weights[Math.floor(0.98 * weights.length)] ?? 1, 0.02, 1);
  view.both.classList.toggle("layer", view.layer);
  if (view.layer) drawSheet(view); else drawMatrix(`${view.story}.${n}`, tokens, view.rows, darkest);
  view.scale.textContent = view.layer ? SAME_SCALE : `Rows look at columns. Full colour: a weight of ${darkest.toFixed(2)} or more.`;
  view.matrix.setAttribute("aria-label", `Attention matrix of ${headName(view, view.head).toLowerCase()}; the text beside it says the same token by token`);
  view.text.replaceChildren(...tokens.map((t, i) => el("span", { class: i === 0 ? "t bos" : "t", "data-i": i }, visible(t) === t ? t : visible(t) + (t.includes("\n") ? "\n" : ""))));
  if (view.token === null) view.token = n - 1;
  highlight(view);
}

// How many of the chosen story's tokens are shown.
function tokensShown(view) {
  const { attended } = view.withAttention[view.story];
  return Math.min(attended, view.first ?? attended);
}

// A slider for the number of tokens that are shown, counted from the story's first.
function firstTokens(view) {
  view.slider = el("input", { type: "range", id: "head-first", min: 2, "aria-label": "First tokens of the story that are shown", oninput: () => {
    const all = view.slider.value === view.slider.max;
    showFirst(view, all ? null : Number(view.slider.value));
    if (all) forget("first"); else tell("first", view.first);
  } });
  view.firstShown = el("output", { for: "head-first" });
  limitFirst(view);
  return [el("label", { class: "field" }, "First tokens", view.slider, view.firstShown)];
}

function limitFirst(view) {
  if (!view.slider) return;
  const { attended } = view.withAttention[view.story], n = tokensShown(view);
  view.slider.max = attended;
  view.slider.value = n;
  view.firstShown.textContent = `${n} of ${attended}`;
  view.slider.setAttribute("aria-valuetext", view.firstShown.textContent);
}

// Show the first tokens, null for all; a token that the reader chose stays where it can.
function showFirst(view, first) {
  view.first = first === null ? null : Math.max(2, first);
  limitFirst(view);
  view.token = chosen.has("token") ? Math.min(view.token, tokensShown(view) - 1) : null;
  drawThumbnails(view);
  showAttention(view);
}

function highlight(view) {
  const { rows, token: at, from } = view, spans = Array.from(view.text.children);
  if (!rows) return;
  const weights = spans.map((_, i) => (from ? (i <= at ? rows[at][i] : null) : i >= at ? rows[i][at] : null));
  spans.forEach((span, i) => {
    span.style.setProperty("--a", weights[i] === null ? 0 : Math.sqrt(weights[i]).toFixed(3));
    span.classList.toggle("at", i === at);
    span.classList.toggle("later", weights[i] === null);
    span.title = weights[i] === null ? "" : percent(weights[i]);
  });
  const best = weights.map((w, i) => [w ?? -1, i]).sort((a, b) => b[0] - a[0]).filter(([w]) => w > 0.005).slice(0, 3);
  const named = (i) => quoted(view, i);
  view.hint.textContent = `${named(at)} ${from ? "looks at" : "is looked at by"} ` +
    (best.map(([w, i]) => `${named(i)} ${percent(w, 0)}`).join(", ") || "nothing much") + ".";
  showLooks(view);
}

const quoted = (view, i) => `“${tokenShown(view.vocabulary[view.withAttention[view.story].tokens[i]])}” (${i})`;

// The reader chose a token.
function chooseToken(view, i) {
  view.token = i;
  highlight(view);
  tellStory(view.number(view.withAttention[view.story]));
  tell("token", i);
}

// One tab stop for the whole text; the pointer or the arrow keys choose the token.
function chooseTokens(view) {
  const { text } = view, at = (i) => chooseToken(view, i);
  text.setAttribute("tabindex", 0);
  text.setAttribute("aria-label", "Story: choose a token with the arrow keys to see where this head looks from it");
  const point = (event) => { const i = event.target.dataset?.i; if (i !== undefined && Number(i) !== view.token) at(Number(i)); };
  text.addEventListener("pointerover", point);
  text.addEventListener("click", point);
  text.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { at(clamp(view.token + step, 0, text.children.length - 1)); event.preventDefault(); }
  });
}

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
