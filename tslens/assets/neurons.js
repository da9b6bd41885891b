// A searchable, sortable, paged table of all neurons, with the contexts in which each fires most.

const PAGE = 25;

function neuronsSection({ neurons, stories = [], vocabulary }) {
  const { layers, width, tops, values: strengths, ranks, corpus, reach, tags, kinds } = neurons, count = layers * width;
  const start = stories.length ? vocabulary[stories[0].tokens[0]] : null;
  const name = (n) => `${Math.floor(n / width)}.${n % width}`;
  const labelOf = (n) => (neurons.label[n] === 255 ? "unresolved" : tags[neurons.label[n]]);
  const lower = vocabulary.map((t) => t.trim().toLowerCase());
  const shown = (t) => (vocabulary[t] === start ? "" : vocabulary[t]);
  const state = { sort: "label", down: true, page: 0, open: null, rows: null };
  const columns = [
    { key: "id", text: "Neuron", value: (n) => n, down: false },
    { key: "label", text: "Fires on", value: (n) => (neurons.label[n] === 255 ? -1 : neurons.share_low[n]), help: "The part of speech that its top tokens have, with its share among them; unresolved where the evidence is missing. Sorted by the lower end of the interval" },
    { key: "lift", text: "× base rate", number: true, value: (n) => neurons.lift[n], help: "That share over the part of speech's share of all tokens" },
    { key: "kinds", text: "Tokens", number: true, value: (n) => kinds[n], help: "Different tokens among its top ones: with one alone, the label may be that token's and not the part of speech's" },
    { key: "rate", text: "Fires", number: true, value: (n) => neurons.firing_rate[n], help: "Share of tokens with an activation above 0" },
    { key: "max", text: "Max", number: true, value: (n) => neurons.max[n], help: "Largest activation over the corpus" },
    { key: "words", text: "Top tokens" },
    { key: "context", text: "Strongest context" },
  ];

  const words = (n) => {
    const seen = new Set();
    for (let k = 0; k < ranks; k++) {
      const at = tops[n * ranks + k];
      if (at !== NONE32) seen.add(corpus[at]);
    }
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

  // What is typed: words of a top token, a part of speech or "unresolved", a layer ("L3"), or one neuron ("3.17").
  function filter() {
    const typed = search.value.trim().toLowerCase(), layer = layerChoice.select.value, label = labelChoice.select.value;
    const one = typed.match(/^l?(\d+)[.:](\d+)$/), whole = typed.match(/^(?:l|layer ?)(\d+)$/);
    const exact = typed.match(/^"(.+)"$/), wanted = new Uint8Array(vocabulary.length);
    if (typed) lower.forEach((t, i) => { wanted[i] = exact ? t === exact[1] : t.includes(typed); });
    const rows = [];
    for (let n = 0; n < count; n++) {
      const l = Math.floor(n / width);
      if (layer !== "" && l !== Number(layer)) continue;
      if (label !== "" && labelOf(n) !== label) continue;
      if (typed) {
        if (one) { if (l !== Number(one[1]) || n % width !== Number(one[2])) continue; }
        else if (whole) { if (l !== Number(whole[1])) continue; }
        else if (labelOf(n).toLowerCase() !== typed) {
          let hit = false;
          for (let k = 0; k < ranks && !hit; k++) { const at = tops[n * ranks + k]; hit = at !== NONE32 && wanted[corpus[at]] === 1; }
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
    if (!shown.length) body.append(el("tr", {}, el("td", { colspan: columns.length }, el("p", { class: "empty" }, "No neuron matches. Top tokens are searched; try a shorter word, or clear the filters."))));
    status.textContent = state.rows.length ? `${(from + 1).toLocaleString("en")}–${(from + shown.length).toLocaleString("en")} of ${state.rows.length.toLocaleString("en")} neurons` : "0 neurons";
    first.disabled = previous.disabled = state.page === 0;
    next.disabled = end.disabled = state.page >= pages - 1;
  }

  function row(n) {
    const label = neurons.label[n], top = tops[n * ranks], open = n === state.open;
    return el("tr", { class: open ? "row open" : "row", "data-neuron": n, onclick: (event) => { if (!getSelection().toString()) toggle(n, event.target.closest("button")); } },
      el("td", { class: "id" }, el("button", { type: "button", "aria-expanded": String(open) }, name(n))),
      el("td", {}, label === 255 ? el("span", { class: "muted" }, "unresolved") : [tags[label], el("span", { class: "muted" }, ` ${percent(neurons.share[n], 0)}`)]),
      el("td", { class: "n", "data-label": "× base" }, Number.isFinite(neurons.lift[n]) ? neurons.lift[n].toFixed(1) : "–"),
      el("td", { class: "n", "data-label": "tokens" }, String(kinds[n])),
      el("td", { class: "n", "data-label": "fires" }, percent(neurons.firing_rate[n])),
      el("td", { class: "n", "data-label": "max" }, neurons.max[n].toFixed(2)),
      el("td", { class: "words" }, words(n).slice(0, 6).map((w) => el("span", { class: "word" }, visible(vocabulary[w].trim()) || visible(vocabulary[w]) || "␣"))),
      el("td", { class: "context" }, top === undefined || top === NONE32 ? "–" : context(top)));
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
    for (let k = 0; k < ranks; k++) if (tops[n * ranks + k] !== NONE32) strongest.push([strengths[n * ranks + k], tops[n * ranks + k]]);
    const evidence = neurons.label[n] === 255
      ? `No part of speech passes: the nearest is ${tags[neurons.best[n]]}, ${percent(neurons.share[n], 0)} of its top tokens, ${neurons.lift[n].toFixed(1)} times its base rate, q = ${neurons.q[n].toFixed(3)}.`
      : `${tags[neurons.label[n]]}: ${percent(neurons.share[n], 0)} [${percent(neurons.share_low[n], 0)}, ${percent(neurons.share_high[n], 0)}] of ${neurons.distinct[n]} distinct top contexts, ${neurons.lift[n].toFixed(1)} times its base rate; false discovery rate ${neurons.q[n] < 0.001 ? "below 0.001" : neurons.q[n].toFixed(3)}; AUROC ${neurons.auroc[n].toFixed(2)}.`;
    const left = el("div", {}, el("h4", {}, "Top contexts"), strongest.length ? list(strongest) : el("p", { class: "muted" }, "Not in this page: it would have outgrown its budget."));
    const right = el("div", {}, el("h4", {}, "Evidence"), el("p", { class: "small" }, evidence));
    for (const [title, ids] of [["Raises the logits of", neurons.promoted], ["Lowers the logits of", neurons.suppressed]]) {
      if (ids) right.append(el("h4", {}, title), el("p", {}, Array.from(ids.subarray(n * neurons.effects, (n + 1) * neurons.effects), (t) => el("span", { class: "word" }, visible(vocabulary[t])))));
    }
    if (neurons.samples) {
      const { levels, each, places, index, values } = neurons.samples;
      levels.forEach((level, q) => {
        const items = [];
        for (let e = 0; e < each; e++) { const i = (n * levels.length + q) * each + e; if (index[i] !== NONE16) items.push([values[i], places[index[i]]]); }
        (q < levels.length / 2 ? left : right).append(el("h4", {}, `About the ${percent(level, level > 0.99 || level < 0.01 ? 1 : 0)} quantile of all tokens`), list(items));
      });
      const drawn = Array.from(neurons.samples.random.subarray(n * neurons.samples.drawn, (n + 1) * neurons.samples.drawn), (v, i) => [v, places[i]]);
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

  const search = el("input", { type: "search", id: "neuron-search", placeholder: "Search a word, a label, L3 or 3.17", "aria-label": "Search neurons by word, label, layer or number", autocomplete: "off", spellcheck: "false" });
  let pending;
  search.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(filter, 60); });
  const layerChoice = choose("Layer", [["", "all"], ...Array.from({ length: layers }, (_, l) => [l, String(l)])], filter);
  const sortChoice = choose("Sort by", columns.filter((c) => c.value).map((c) => [c.key, c.text]), (key) => { state.sort = key; state.down = columns.find((c) => c.key === key).down !== false; filter(); });
  sortChoice.select.value = state.sort;
  sortChoice.field.classList.add("narrow");
  const present = [...new Set(Array.from(neurons.label))].map((l) => (l === 255 ? "unresolved" : tags[l])).sort();
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
