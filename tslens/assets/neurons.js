// A searchable, sortable, paged table of all neurons, with the contexts in which each fires most.

const PAGE = 25;
const UNLABELLED = 255; // in `neurons.label`: no part of speech

// Every function below takes `view`: the section's data, what is chosen in it, and the nodes that change.
function neuronsSection({ neurons, stories = [], vocabulary }) {
  neurons.tests ??= { names: [""], test: new Uint8Array(neurons.label.length), neurons: [], auroc: [] };
  [neurons.share_low, neurons.share_high] = wilson(neurons.share, neurons.distinct);
  neurons.tests.at = new Map(Array.from(neurons.tests.neurons, (n, i) => [n, i]));
  const view = {
    neurons, vocabulary, ...contextPlaces(neurons),
    start: stories.length ? vocabulary[stories[0].tokens[0]] : null, // the text of BOS, which is not shown
    lower: vocabulary.map((t) => tokenShown(t).toLowerCase()), running: null,
    columns: neuronColumns(neurons), sort: neurons.tests.neurons.length ? "test" : "label", down: true, page: 0, open: null, rows: null,
    header: el("tr"), body: el("tbody"), status: el("span", { role: "status", id: "neuron-count", class: "muted" }),
  };
  byId("neurons-view").append(el("div", { class: "panel" }, neuronFilters(view),
    el("div", { class: "scroll" }, el("table", { class: "neurons" }, el("caption", { class: "sr" }, "All neurons; press a row for its contexts and evidence"), el("thead", {}, view.header), view.body)),
    neuronPager(view)));
  filterNeurons(view);
  followTable(view);
  return view;
}

// The order of the table, its page, and the neuron that is opened.
function followTable(view) {
  const { neurons } = view, { sort, down } = view;
  follow("sort", (value) => {
    const [key, way] = value?.split(" ") ?? [sort, down ? "down" : "up"];
    if (!view.columns.some((c) => c.value && c.key === key) || (key === view.sort && (way !== "up") === view.down)) return;
    Object.assign(view, { sort: key, down: way !== "up" });
    view.order.value = key;
    filterNeurons(view);
  });
  view.tellSort = () => { if (view.sort === sort && view.down === down) forget("sort"); else tell("sort", `${view.sort} ${view.down ? "down" : "up"}`); };
  follow("page", (value) => { view.page = /^\d+$/.test(value) ? clamp(Number(value), 1, pagesOf(view)) - 1 : 0; drawTable(view); });
  follow("neuron", (value) => { const n = placeOf(value, neurons.layers, neurons.width); if (n !== view.open) openNeuron(view, n); });
}

// The neuron that an address asks for, opened where it stands; what is searched for is cleared where it leaves it out.
function openNeuron(view, n) {
  if (n !== null && !view.rows.includes(n)) {
    for (const field of [view.search, view.layer.select, view.label.select]) field.value = "";
    for (const key of ["find", "of", "label"]) chosen.delete(key);
    filterNeurons(view);
  }
  if (n !== null) view.page = Math.floor(view.rows.indexOf(n) / PAGE);
  view.open = n;
  drawTable(view);
}

// Contexts lie neuron after neuron: those of n from begin[n] to begin[n + 1]. The rest is kept for neurons in slots.
function contextPlaces(neurons) {
  const count = neurons.layers * neurons.width, slots = new Map(Array.from(neurons.full, (n, slot) => [n, slot])), begin = new Uint32Array(count + 1);
  for (let n = 0; n < count; n++) begin[n + 1] = begin[n] + (slots.has(n) ? neurons.ranks : neurons.rest);
  return { count, slots, begin };
}

const kindOf = ({ neurons }, n) => (neurons.label[n] !== UNLABELLED ? neurons.tags[neurons.label[n]] : neurons.by_word[n] ? "one word" : "unresolved");
const wordOf = ({ neurons, vocabulary }, n) => tokenShown(vocabulary[neurons.word[n]]);
const testOf = ({ neurons }, n) => neurons.tests.names[neurons.tests.test[n]]; // what other stories say of its label
const labelOf = (view, n) => (kindOf(view, n) === "one word" ? `token: ${wordOf(view, n)}` : kindOf(view, n));
const two = (x) => (Number.isFinite(x) ? x.toFixed(2) : "–");

function neuronColumns(neurons) {
  return [
    { key: "id", text: "Neuron", value: (n) => n, down: false },
    { key: "label", text: "Fires on", value: (n) => (neurons.label[n] !== UNLABELLED ? neurons.share_low[n] : neurons.by_word[n] ? neurons.word_auroc_low[n] - 1 : -1), help: "The part of speech it prefers, with its share among its different top words, or one word with its share among its top tokens; unresolved where the evidence is missing there or on random tokens. Sorted by the lower end of the interval" },
    { key: "test", text: "Other stories", number: true, value: (n) => testedAt(neurons, n), help: "AUROC of the label on stories and words that it was not made from: the chance that such a token excites the neuron more than another, 0.5 being none. A label whose interval is not above 0.7, of a part of speech also among words of like frequency (and over words above 0.5), is a tail selector: it says what the top tokens are, and does not predict. Sorted by the lower end of the intervals: labels that predict first, parts of speech before words" },
    { key: "auroc", text: "AUROC", number: true, value: (n) => (neurons.by_word[n] ? neurons.word_auroc_low[n] : neurons.auroc_low[n]), help: "The chance that a random token of that kind excites it more than another random token, 0.5 being none. Sorted by the lower end of the interval" },
    { key: "kinds", text: "Tokens", number: true, value: (n) => neurons.kinds[n], help: "Different tokens among its top ones: with one alone, the label may be that token's and not the part of speech's" },
    { key: "rate", text: "Fires", number: true, value: (n) => neurons.firing_rate[n], help: "Share of tokens with an activation above 0" },
    { key: "max", text: "Max", number: true, value: (n) => neurons.max[n], help: "Largest activation over the corpus" },
    { key: "words", text: "Top tokens" },
    { key: "context", text: "Strongest context" },
  ];
}

// The lower end of the AUROC on other stories: first labels that predict, of these parts of speech before words, which
// untrained models earn too; then tail selectors, then untested labels.
function testedAt({ tests, by_word }, n) {
  const test = tests.names[tests.test[n]];
  if (test === "" || test === "untested") return test ? -1 : -2;
  const i = tests.at.get(n), low = tests.auroc_low[i];
  return (by_word[n] ? low : Math.min(low, tests.alike_low[i])) + (test === "predicts" ? 2 : 0) - by_word[n];
}

// Above the table: the search, and choices of layer, label and order.
function neuronFilters(view) {
  const { neurons, columns } = view, filter = () => filterNeurons(view), again = () => { for (const key of ["page", "neuron"]) forget(key); };
  view.search = el("input", { type: "search", id: "neuron-search", placeholder: "A word it fires in, a label, L3, 3.17", "aria-label": "Search neurons by a word they fire in, label, layer or number", autocomplete: "off", spellcheck: "false" });
  const typed = keep("find", view.search, filter);
  let pending;
  view.search.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(() => { filter(); typed(); again(); }, 60); });
  const counts = new Map();
  neurons.label.forEach((_, n) => counts.set(kindOf(view, n), 1 + (counts.get(kindOf(view, n)) ?? 0)));
  const present = [...counts.keys()].sort();
  view.layer = choose("Layer", [["", "all"], ...Array.from({ length: neurons.layers }, (_, l) => [l, String(l)])], filter, "of");
  view.label = choose("Label", [["", "all"], ...present.map((t) => [t, `${t} ${beside(counts.get(t), neurons.twins?.[t === "one word" ? "one-word" : t])}`])], filter, "label");
  const order = choose("Sort by", columns.filter((c) => c.value).map((c) => [c.key, c.text]), (key) => { view.sort = key; view.down = columns.find((c) => c.key === key).down !== false; filter(); view.tellSort(); }, null, view.sort);
  view.order = order.select;
  order.field.classList.add("narrow");
  return el("div", { class: "bar", onchange: (event) => { if (event.target !== view.search) again(); } }, view.search, view.layer.field, view.label.field, order.field);
}

// Below the table: which rows are shown, and buttons to turn the page.
function neuronPager(view) {
  const button = (text, label, page) => el("button", { type: "button", class: "plain", "aria-label": label, onclick: () => turnTo(view, page()) }, text);
  view.back = [button("«", "First page", () => 0), button("‹ Previous", "Previous page", () => view.page - 1)];
  view.forth = [button("Next ›", "Next page", () => view.page + 1), button("»", "Last page", () => pagesOf(view) - 1)];
  return el("div", { class: "pager" }, view.status, el("span", { class: "push", style: "margin-left:auto" }), view.back, view.forth);
}

const pagesOf = (view) => Math.max(1, Math.ceil(view.rows.length / PAGE));

function turnTo(view, page) {
  view.page = page;
  view.open = null;
  drawTable(view);
  forget("neuron");
  if (page) tell("page", page + 1); else forget("page");
}

// What is typed: words of a top token, a part of speech or "unresolved", a layer ("L3"), or one neuron ("3.17").
function queryOf(view) {
  const typed = view.search.value.trim().toLowerCase();
  const one = typed.match(/^l?(\d+)[.:](\d+)$/), whole = typed.match(/^(?:l|layer ?)(\d+)$/);
  const exact = typed.match(/^"(.+)"$/), wanted = new Uint8Array(view.vocabulary.length);
  if (typed) view.lower.forEach((t, i) => { wanted[i] = exact ? t === exact[1] : t.includes(typed); });
  return { typed, one, whole, wanted, places: typed && !exact && !one && !whole ? placesOf(view, typed) : null };
}

// Places of the corpus that are part of what is typed, though no token holds the whole of it.
function placesOf(view, typed) {
  const { corpus } = view.neurons;
  if (!view.running) {
    const parts = Array.from(corpus, (t) => (t === NONE16 ? "\n" : shownToken(view, t).toLowerCase())), begins = new Uint32Array(parts.length + 1);
    parts.forEach((part, i) => { begins[i + 1] = begins[i] + part.length; });
    view.running = { text: parts.join(""), begins };
  }
  const { text, begins } = view.running, places = new Uint8Array(corpus.length);
  for (let at = text.indexOf(typed), i = 0; at !== -1; at = text.indexOf(typed, at + 1)) {
    while (begins[i + 1] <= at) i++;
    for (let j = i; j < corpus.length && begins[j] < at + typed.length; j++) places[j] = 1;
  }
  return places;
}

function matchesQuery(view, query, n) {
  const { typed, one, whole, wanted, places } = query, { neurons, begin } = view, { tops, corpus, width } = neurons;
  if (!typed) return true;
  const layer = Math.floor(n / width);
  if (one) return layer === Number(one[1]) && n % width === Number(one[2]);
  if (whole) return layer === Number(whole[1]);
  if (kindOf(view, n).toLowerCase() === typed || labelOf(view, n).toLowerCase() === typed) return true;
  for (let i = begin[n]; i < begin[n + 1]; i++) if (tops[i] !== NONE32 && (wanted[corpus[tops[i]]] === 1 || places?.[tops[i]] === 1)) return true;
  return false;
}

function filterNeurons(view) {
  const { neurons, count } = view, layer = view.layer.select.value, label = view.label.select.value, query = queryOf(view), rows = [];
  for (let n = 0; n < count; n++) {
    if (layer !== "" && Math.floor(n / neurons.width) !== Number(layer)) continue;
    if (label !== "" && kindOf(view, n) !== label) continue;
    if (matchesQuery(view, query, n)) rows.push(n);
  }
  const value = view.columns.find((c) => c.key === view.sort).value, sign = view.down ? -1 : 1, keys = new Float64Array(count);
  for (const n of rows) { const v = value(n); keys[n] = Number.isNaN(v) ? -Infinity : v; }
  view.rows = rows.sort((a, b) => sign * (keys[a] - keys[b]) || neurons.kinds[b] - neurons.kinds[a] || a - b);
  view.page = 0;
  view.open = null;
  drawTable(view);
}

function drawTable(view) {
  const { rows, columns } = view, pages = pagesOf(view), from = view.page * PAGE, shown = rows.slice(from, from + PAGE);
  view.header.replaceChildren(...columns.map((c) => columnHead(view, c)));
  view.body.replaceChildren(...shown.flatMap((n) => (n === view.open ? [neuronRow(view, n), neuronDetail(view, n)] : [neuronRow(view, n)])));
  if (!shown.length) view.body.append(el("tr", {}, el("td", { colspan: columns.length }, el("p", { class: "empty" }, "No neuron matches. Searched are the tokens on which each fires most, not the words around them; try a shorter word, or clear the filters."))));
  view.status.textContent = rows.length ? `${(from + 1).toLocaleString("en")}–${(from + shown.length).toLocaleString("en")} of ${rows.length.toLocaleString("en")} neurons` : "0 neurons";
  for (const button of view.back) button.disabled = view.page === 0;
  for (const button of view.forth) button.disabled = view.page >= pages - 1;
}

function columnHead(view, c) {
  const order = c.key === view.sort ? (view.down ? "descending" : "ascending") : null;
  return el("th", { scope: "col", class: c.number ? "n" : null, title: c.help, "aria-sort": order },
    c.value ? el("button", { type: "button", "data-sort": c.key, onclick: () => sortNeurons(view, c) }, c.text) : el("button", { type: "button", disabled: true, style: "cursor:default" }, c.text));
}

function sortNeurons(view, column) {
  view.down = view.sort === column.key ? !view.down : column.down !== false;
  view.sort = view.order.value = column.key;
  filterNeurons(view);
  view.tellSort();
  for (const key of ["page", "neuron"]) forget(key);
  view.header.querySelector(`[data-sort="${column.key}"]`).focus({ preventScroll: true });
}

function neuronRow(view, n) {
  const { neurons, begin, vocabulary } = view, open = n === view.open;
  const top = begin[n] < begin[n + 1] ? neurons.tops[begin[n]] : NONE32, share = neurons.label[n] === UNLABELLED ? neurons.word_share : neurons.share;
  return el("tr", { class: open ? "row open" : "row", "data-neuron": n, onclick: (event) => { if (!getSelection().toString()) toggleNeuron(view, n, event.target.closest("button")); } },
    el("td", { class: "id" }, el("button", { type: "button", "aria-expanded": String(open) }, `${Math.floor(n / neurons.width)}.${n % neurons.width}`)),
    el("td", {}, kindOf(view, n) === "unresolved" ? el("span", { class: "muted" }, "unresolved") : [labelOf(view, n), el("span", { class: "muted" }, testOf(view, n) === "predicts" ? ` ${percent(share[n], 0)}` : `, ${testOf(view, n)}`)]),
    el("td", { class: "n", "data-label": "other stories" }, two(neurons.tests.auroc[neurons.tests.at.get(n)] ?? NaN)),
    el("td", { class: "n", "data-label": "AUROC" }, two((neurons.by_word[n] ? neurons.word_auroc : neurons.auroc)[n])),
    el("td", { class: "n", "data-label": "tokens" }, String(neurons.kinds[n])),
    el("td", { class: "n", "data-label": "fires" }, percent(neurons.firing_rate[n])),
    el("td", { class: "n", "data-label": "max" }, neurons.max[n].toFixed(2)),
    el("td", { class: "words" }, topWords(view, n).slice(0, 6).map((w) => el("span", { class: "word" }, tokenShown(vocabulary[w])))),
    el("td", { class: "context" }, top === NONE32 ? "–" : contextAt(view, top)));
}

function toggleNeuron(view, n, button) {
  view.open = view.open === n ? null : n;
  drawTable(view);
  if (view.open === null) forget("neuron"); else tell("neuron", `${Math.floor(n / view.neurons.width)}.${n % view.neurons.width}`);
  if (button) view.body.querySelector(`tr[data-neuron="${n}"] button`).focus({ preventScroll: true });
}
