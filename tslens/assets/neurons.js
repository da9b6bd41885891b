// A searchable, sortable, paged table of all neurons, with the contexts in which each fires most.

const PAGE = 25;

function neuronsSection({ neurons, stories = [], vocabulary }) {
  const { layers, width, tops, values: strengths, corpus, reach, tags, kinds } = neurons, count = layers * width;
  // Contexts lie neuron after neuron: those of n from begin[n] to begin[n + 1]. The rest is kept for neurons in slots.
  const slots = new Map(Array.from(neurons.full, (n, slot) => [n, slot])), begin = new Uint32Array(count + 1);
  for (let n = 0; n < count; n++) begin[n + 1] = begin[n] + (slots.has(n) ? neurons.ranks : neurons.rest);
  const start = stories.length ? vocabulary[stories[0].tokens[0]] : null;
  const name = (n) => `${Math.floor(n / width)}.${n % width}`;
  const kindOf = (n) => (neurons.label[n] !== 255 ? tags[neurons.label[n]] : neurons.by_word[n] ? "one word" : "unresolved");
  const wordOf = (n) => visible(vocabulary[neurons.word[n]].trim()) || "␣";
  const labelOf = (n) => (kindOf(n) === "one word" ? `token: ${wordOf(n)}` : kindOf(n));
  const liftOf = (n) => (neurons.label[n] !== 255 ? neurons.lift[n] : NaN);
  const lower = vocabulary.map((t) => t.trim().toLowerCase());
  const shown = (t) => (vocabulary[t] === start ? "" : vocabulary[t]);
  const state = { sort: "label", down: true, page: 0, open: null, rows: null };
  const columns = [
    { key: "id", text: "Neuron", value: (n) => n, down: false },
    { key: "label", text: "Fires on", value: (n) => (neurons.label[n] !== 255 ? neurons.share_low[n] : neurons.by_word[n] ? neurons.word_auroc_low[n] - 1 : -1), help: "The part of speech it prefers, with its share among its different top words, or one word with its share among its top tokens; unresolved where the evidence is missing there or on random tokens. Sorted by the lower end of the interval" },
    { key: "auroc", text: "AUROC", number: true, value: (n) => (neurons.by_word[n] ? neurons.word_auroc_low[n] : neurons.auroc_low[n]), help: "The chance that a random token of that kind excites it more than another random token, 0.5 being none. Sorted by the lower end of the interval" },
    { key: "lift", text: "× base rate", number: true, value: liftOf, help: "Of a part of speech: its share among the different top words, over its base rate" },
    { key: "kinds", text: "Tokens", number: true, value: (n) => kinds[n], help: "Different tokens among its top ones: with one alone, the label may be that token's and not the part of speech's" },
    { key: "rate", text: "Fires", number: true, value: (n) => neurons.firing_rate[n], help: "Share of tokens with an activation above 0" },
    { key: "max", text: "Max", number: true, value: (n) => neurons.max[n], help: "Largest activation over the corpus" },
    { key: "words", text: "Top tokens" },
    { key: "context", text: "Strongest context" },
  ];

  const two = (x) => (Number.isFinite(x) ? x.toFixed(2) : "–");
  const words = (n) => {
    const seen = new Set();
    for (let i = begin[n]; i < begin[n + 1]; i++) if (tops[i] !== NONE32) seen.add(corpus[tops[i]]);
    return [...seen];
  };

  // The window around a place of the corpus, cut at the story's ends.
  function context(at) {
    const before = [], after = [];
    for (let i = at - 1; i >= at - reach && i >= 0 && corpus[i] !== NONE16; i--) before.unshift(shown(corpus[i]));
    for (let i = at + 1; i <= at + reach && i < corpus.length && corpus[i] !== NONE16; i++) after.push(shown(corpus[i]));
    const peak = vocabulary[corpus[at]], space = peak.match(/^ */)[0];
    return el("span", { class: "context" }, visible((before.join("") + space).trimStart()), el("mark", {}, visible(peak.slice(space.length)) || "␣"), visible(after.join("")));
  }

  // Places of the corpus that are part of what is typed, though no token holds the whole of it.
  let running = null;
  function inText(typed) {
    if (!running) {
      const parts = Array.from(corpus, (t) => (t === NONE16 ? "\n" : shown(t).toLowerCase())), begins = new Uint32Array(parts.length + 1);
      parts.forEach((part, i) => { begins[i + 1] = begins[i] + part.length; });
      running = { text: parts.join(""), begins };
    }
    const { text, begins } = running, places = new Uint8Array(corpus.length);
    for (let at = text.indexOf(typed), i = 0; at !== -1; at = text.indexOf(typed, at + 1)) {
      while (begins[i + 1] <= at) i++;
      for (let j = i; j < corpus.length && begins[j] < at + typed.length; j++) places[j] = 1;
    }
    return places;
  }

  // What is typed: words of a top token, a part of speech or "unresolved", a layer ("L3"), or one neuron ("3.17").
  function filter() {
    const typed = search.value.trim().toLowerCase(), layer = layerChoice.select.value, label = labelChoice.select.value;
    const one = typed.match(/^l?(\d+)[.:](\d+)$/), whole = typed.match(/^(?:l|layer ?)(\d+)$/);
    const exact = typed.match(/^"(.+)"$/), wanted = new Uint8Array(vocabulary.length);
    if (typed) lower.forEach((t, i) => { wanted[i] = exact ? t === exact[1] : t.includes(typed); });
    const places = typed && !exact && !one && !whole ? inText(typed) : null;
    const rows = [];
    for (let n = 0; n < count; n++) {
      const l = Math.floor(n / width);
      if (layer !== "" && l !== Number(layer)) continue;
      if (label !== "" && kindOf(n) !== label) continue;
      if (typed) {
        if (one) { if (l !== Number(one[1]) || n % width !== Number(one[2])) continue; }
        else if (whole) { if (l !== Number(whole[1])) continue; }
        else if (kindOf(n).toLowerCase() !== typed && labelOf(n).toLowerCase() !== typed) {
          let hit = false;
          for (let i = begin[n]; i < begin[n + 1] && !hit; i++) hit = tops[i] !== NONE32 && (wanted[corpus[tops[i]]] === 1 || places?.[tops[i]] === 1);
          if (!hit) continue;
        }
      }
      rows.push(n);
    }
    const value = columns.find((c) => c.key === state.sort).value, sign = state.down ? -1 : 1, keys = new Float64Array(count);
    for (const n of rows) { const v = value(n); keys[n] = Number.isNaN(v) ? -Infinity : v; }
    state.rows = rows.sort((a, b) => sign * (keys[a] - keys[b]) || kinds[b] - kinds[a] || a - b);
    state.page = 0;
    state.open = null;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(state.rows.length / PAGE)), from = state.page * PAGE, shown = state.rows.slice(from, from + PAGE);
    head.replaceChildren(...columns.map((c) => el("th", { scope: "col", class: c.number ? "n" : null, title: c.help, "aria-sort": c.key === state.sort ? (state.down ? "descending" : "ascending") : null },
      c.value ? el("button", { type: "button", "data-sort": c.key, onclick: () => sortBy(c) }, c.text) : el("button", { type: "button", disabled: true, style: "cursor:default" }, c.text))));
    body.replaceChildren(...shown.flatMap((n) => (n === state.open ? [row(n), more(n)] : [row(n)])));
    if (!shown.length) body.append(el("tr", {}, el("td", { colspan: columns.length }, el("p", { class: "empty" }, "No neuron matches. Searched are the tokens on which each fires most, not the words around them; try a shorter word, or clear the filters."))));
    status.textContent = state.rows.length ? `${(from + 1).toLocaleString("en")}–${(from + shown.length).toLocaleString("en")} of ${state.rows.length.toLocaleString("en")} neurons` : "0 neurons";
    first.disabled = previous.disabled = state.page === 0;
    next.disabled = end.disabled = state.page >= pages - 1;
  }

  function row(n) {
    const label = neurons.label[n], top = begin[n] < begin[n + 1] ? tops[begin[n]] : NONE32, open = n === state.open;
    return el("tr", { class: open ? "row open" : "row", "data-neuron": n, onclick: (event) => { if (!getSelection().toString()) toggle(n, event.target.closest("button")); } },
      el("td", { class: "id" }, el("button", { type: "button", "aria-expanded": String(open) }, name(n))),
      el("td", {}, kindOf(n) === "unresolved" ? el("span", { class: "muted" }, "unresolved") : [labelOf(n), el("span", { class: "muted" }, ` ${percent((label === 255 ? neurons.word_share : neurons.share)[n], 0)}`)]),
      el("td", { class: "n", "data-label": "AUROC" }, two((neurons.by_word[n] ? neurons.word_auroc : neurons.auroc)[n])),
      el("td", { class: "n", "data-label": "× base" }, Number.isFinite(liftOf(n)) ? liftOf(n).toFixed(1) : "–"),
      el("td", { class: "n", "data-label": "tokens" }, String(kinds[n])),
      el("td", { class: "n", "data-label": "fires" }, percent(neurons.firing_rate[n])),
      el("td", { class: "n", "data-label": "max" }, neurons.max[n].toFixed(2)),
      el("td", { class: "words" }, words(n).slice(0, 6).map((w) => el("span", { class: "word" }, visible(vocabulary[w].trim()) || visible(vocabulary[w]) || "␣"))),
      el("td", { class: "context" }, top === NONE32 ? "–" : context(top)));
  }

  function toggle(n, button) {
    state.open = state.open === n ? null : n;
    draw();
    if (button) body.querySelector(`tr[data-neuron="${n}"] button`).focus({ preventScroll: true });
  }

  // Everything the page knows of a neuron: top contexts, chosen and unchosen examples, evidence, and what it writes.
  function more(n) {
    const list = (items) => el("ol", {}, items.map(([value, at]) => el("li", {}, el("span", {}, value.toFixed(2).replace(/^-0\.00$/, "0.00")), context(at))));
    const strongest = [];
    for (let i = begin[n]; i < begin[n + 1]; i++) if (tops[i] !== NONE32) strongest.push([strengths[i], tops[i]]);
    const q = neurons.q[n], interval = `AUROC on random tokens ${two(neurons.auroc[n])} [${two(neurons.auroc_low[n])}, ${two(neurons.auroc_high[n])}]`;
    const word = !(neurons.word_share[n] >= 0.9) ? "" : ` ${percent(neurons.word_share[n], 0)} of its top tokens are “${wordOf(n)}”; ` + (Number.isFinite(neurons.word_auroc_low[n])
      ? `its AUROC on random tokens is ${two(neurons.word_auroc[n])}, at least ${two(neurons.word_auroc_low[n])}.` : "it is too rare among the random tokens to be tested.");
    const evidence = neurons.label[n] === 255
      ? `No part of speech passes: the nearest is ${tags[neurons.best[n]]}, ${percent(neurons.share[n], 0)} of ${neurons.distinct[n]} different top words, ${two(neurons.lift[n])} times its base rate, ${interval}, q = ${q.toFixed(3)}.${word}`
      : `${tags[neurons.label[n]]}: ${percent(neurons.share[n], 0)} [${percent(neurons.share_low[n], 0)}, ${percent(neurons.share_high[n], 0)}] of ${neurons.distinct[n]} different top words, ${two(neurons.lift[n])} times its base rate; ${interval}; false discovery rate of both ${q < 0.001 ? "below 0.001" : q.toFixed(3)}.${word}`;
    const left = el("div", {}, el("h4", {}, "Top contexts"), strongest.length ? list(strongest) : el("p", { class: "muted" }, "Not in this page: it would have outgrown its budget."));
    const slot = slots.get(n);
    if (slot === undefined && strongest.length) left.append(el("p", { class: "muted" }, "More contexts, samples and logits of this neuron would have outgrown the page's budget."));
    const right = el("div", {}, el("h4", {}, "Evidence"), el("p", { class: "small" }, evidence));
    for (const [title, ids] of [["Raises the logits of", neurons.promoted], ["Lowers the logits of", neurons.suppressed]]) {
      if (slot !== undefined) right.append(el("h4", {}, title), el("p", {}, Array.from(ids.subarray(slot * neurons.effects, (slot + 1) * neurons.effects), (t) => el("span", { class: "word" }, visible(vocabulary[t])))));
    }
    if (slot !== undefined) {
      const { levels, each, places, index, values } = neurons.samples;
      levels.forEach((level, q) => {
        const items = [];
        for (let e = 0; e < each; e++) { const i = (slot * levels.length + q) * each + e; if (index[i] !== NONE16) items.push([values[i], places[index[i]]]); }
        (q < levels.length / 2 ? left : right).append(el("h4", {}, `About the ${percent(level, level > 0.99 || level < 0.01 ? 1 : 0)} quantile of all tokens`), list(items));
      });
      const drawn = Array.from(neurons.samples.random.subarray(slot * neurons.samples.drawn, (slot + 1) * neurons.samples.drawn), (v, i) => [v, places[i]]);
      if (drawn.length) right.append(el("h4", {}, "Drawn at random"), list(drawn));
    }
    return el("tr", { class: "more" }, el("td", { colspan: columns.length }, el("div", { class: "detail" }, left, right)));
  }

  function sortBy(column) {
    state.down = state.sort === column.key ? !state.down : column.down !== false;
    state.sort = column.key;
    filter();
    head.querySelector(`[data-sort="${column.key}"]`).focus({ preventScroll: true });
  }

  const search = el("input", { type: "search", id: "neuron-search", placeholder: "A word it fires in, a label, L3, 3.17", "aria-label": "Search neurons by a word they fire in, label, layer or number", autocomplete: "off", spellcheck: "false" });
  let pending;
  search.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(filter, 60); });
  const layerChoice = choose("Layer", [["", "all"], ...Array.from({ length: layers }, (_, l) => [l, String(l)])], filter);
  const sortChoice = choose("Sort by", columns.filter((c) => c.value).map((c) => [c.key, c.text]), (key) => { state.sort = key; state.down = columns.find((c) => c.key === key).down !== false; filter(); });
  sortChoice.select.value = state.sort;
  sortChoice.field.classList.add("narrow");
  const present = [...new Set(Array.from(neurons.label, (_, n) => kindOf(n)))].sort();
  const labelChoice = choose("Label", [["", "all"], ...present.map((t) => [t, t])], filter);
  const head = el("tr"), body = el("tbody"), status = el("span", { role: "status", id: "neuron-count", class: "muted" });
  const button = (text, label, go) => el("button", { type: "button", class: "plain", "aria-label": label, onclick: () => { go(); state.open = null; draw(); } }, text);
  const first = button("«", "First page", () => { state.page = 0; }), previous = button("‹ Previous", "Previous page", () => { state.page--; });
  const next = button("Next ›", "Next page", () => { state.page++; }), end = button("»", "Last page", () => { state.page = Math.ceil(state.rows.length / PAGE) - 1; });
  byId("neurons-view").append(el("div", { class: "panel" },
    el("div", { class: "bar" }, search, layerChoice.field, labelChoice.field, sortChoice.field),
    el("div", { class: "scroll" }, el("table", { class: "neurons" }, el("caption", { class: "sr" }, "All neurons; press a row for its contexts and evidence"), el("thead", {}, head), body)),
    el("div", { class: "pager" }, status, el("span", { class: "push", style: "margin-left:auto" }), first, previous, next, end)));
  filter();
}
