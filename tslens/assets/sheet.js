// All heads of a layer over one story as a sheet of small maps, and where all heads of the model look from a token.

const SAME_SCALE = "Rows look at columns. Colour: the root of the weight, the same in every map, full at 1. Point at a row, or choose a token of the text: the row is framed, and every head says where it looks.";
const INK = [0, 114, 178]; // of weights; the style sheet turns it for a dark page

function showLayer(view, on) {
  if (!view.layerField) return;
  view.layer = on;
  view.layerField.select.value = on ? "layer" : "head";
  showAttention(view);
}

// A head's weights over the first n tokens as a picture of a pixel each, which the style sheet enlarges.
function weightPicture(story, head, n) {
  const canvas = el("canvas", { width: n, height: n }), pen = canvas.getContext("2d"), image = pen.createImageData(n, n);
  for (let i = 0, at = beginOf(story, head); i < n; i++) for (let j = 0; j <= i; j++, at++) {
    image.data.set([...INK, story.attention[at]], 4 * (i * n + j));
  }
  pen.putImageData(image, 0, 0);
  return canvas;
}

function drawSheet(view) {
  const story = view.withAttention[view.story], n = tokensShown(view), layer = Math.floor(view.head / view.width);
  view.sheet.setAttribute("aria-label", `All heads of layer ${layer}`);
  const focused = view.sheet.contains(document.activeElement);
  view.maps = Array.from({ length: view.width }, (_, h) => sheetMap(view, story, layer * view.width + h, n));
  view.sheet.replaceChildren(...view.maps.map(({ item }) => item));
  if (focused) view.maps[view.head % view.width].button.focus({ preventScroll: true });
}

function sheetMap(view, story, head, n) {
  const { heads } = view, row = el("i", { class: "row" }), look = el("span", { class: "look" }), role = heads.role[head];
  const map = el("span", { class: "map", onpointermove: (event) => {
    const box = map.getBoundingClientRect(), i = clamp(Math.floor(((event.clientY - box.top) / box.height) * n), 0, n - 1);
    if (i !== view.token) chooseToken(view, i);
  } }, weightPicture(story, head, n), row);
  const name = el("span", {}, el("b", {}, `${Math.floor(head / view.width)}.${head % view.width}`), " ", el("i", { class: "dot", style: `background:${roleColour(heads, role)}` }), heads.roles[role].name);
  const button = el("button", { type: "button", "data-sheet": head, "aria-pressed": String(head === view.head), onclick: () => selectHead(view, head, false) }, map, name, look);
  return { item: el("li", {}, button), button, row, look, head };
}

// For every head the key with the largest weight from a token, or the query that looks most at it.
function looksOf(view, at) {
  const story = view.withAttention[view.story], n = tokensShown(view), count = view.layers * view.width, found = [];
  for (let head = 0; head < count; head++) {
    const base = beginOf(story, head);
    let best = -1, place = at;
    for (let i = view.from ? 0 : at; i < (view.from ? at + 1 : n); i++) {
      const q = story.attention[base + (view.from ? (at * (at + 1)) / 2 + i : (i * (i + 1)) / 2 + at)];
      if (q > best) { best = q; place = i; }
    }
    found.push({ head, place, weight: (best / 255) ** 2 });
  }
  return found;
}

// Below the text: the tokens that any head looks at most from the chosen one, each with these heads, and on the sheet
// what each head says.
function showLooks(view) {
  const named = (i) => quoted(view, i), looks = looksOf(view, view.token);
  if (view.layer) for (const { row, look, head } of view.maps) {
    row.style.setProperty("--at", view.token);
    row.style.setProperty("--n", tokensShown(view));
    row.classList.toggle("down", !view.from);
    look.textContent = `${view.from ? "→" : "←"} ${named(looks[head].place)} ${percent(looks[head].weight, 0)}`;
  }
  const places = new Map();
  for (const one of looks) places.set(one.place, [...(places.get(one.place) ?? []), one]);
  const rows = [...places].sort(([a, x], [b, y]) => y.length - x.length || a - b).map(([place, those]) => el("li", {}, el("b", {}, named(place)), ` ${those.length} `,
    those.sort((a, b) => b.weight - a.weight).flatMap(({ head, weight }) => [" ", el("button", { type: "button", class: "by", onclick: () => selectHead(view, head, false) },
      el("i", { class: "dot", style: `background:${roleColour(view.heads, view.heads.role[head])}` }), `${Math.floor(head / view.width)}.${head % view.width} ${percent(weight, 0)}`)])));
  view.looks.replaceChildren(el("h4", {}, view.from ? `Where all ${looks.length} heads look most from ${named(view.token)}` : `From where all ${looks.length} heads look most at ${named(view.token)}`),
    el("ul", { class: "looks", tabindex: 0, "aria-label": "Tokens, each with the heads whose largest weight it has" }, rows));
}
