// One neuron of the table (`view` of neurons.js): its contexts, its evidence, and what it writes.

const shownToken = (view, t) => (view.vocabulary[t] === view.start ? "" : view.vocabulary[t]);

// Different tokens among those on which a neuron fires most, the strongest first.
function topWords({ neurons, begin }, n) {
  const seen = new Set();
  for (let i = begin[n]; i < begin[n + 1]; i++) if (neurons.tops[i] !== NONE32) seen.add(neurons.corpus[neurons.tops[i]]);
  return [...seen];
}

// The window around a place of the corpus, cut at the story's ends.
function contextAt(view, at) {
  const { corpus, reach } = view.neurons, before = [], after = [];
  for (let i = at - 1; i >= at - reach && i >= 0 && corpus[i] !== NONE16; i--) before.unshift(shownToken(view, corpus[i]));
  for (let i = at + 1; i <= at + reach && i < corpus.length && corpus[i] !== NONE16; i++) after.push(shownToken(view, corpus[i]));
  const peak = view.vocabulary[corpus[at]], space = peak.match(/^ */)[0];
  return el("span", { class: "context" }, visible((before.join("") + space).trimStart()), el("mark", {}, visible(peak.slice(space.length)) || "␣"), visible(after.join("")));
}

// Activations, each with its context.
function contextList(view, items) {
  return el("ol", {}, items.map(([value, at]) => el("li", {}, el("span", {}, value.toFixed(2).replace(/^-0\.00$/, "0.00")), contextAt(view, at))));
}

// Everything the page knows of a neuron: top contexts, chosen and unchosen examples, evidence, and what it writes.
function neuronDetail(view, n) {
  const slot = view.slots.get(n), left = topContexts(view, n), right = el("div", {}, el("h4", {}, "Evidence"), el("p", { class: "small" }, explained(neuronEvidence(view, n))), el("p", { class: "small" }, explained(testEvidence(view, n))));
  if (slot !== undefined) {
    right.append(...logitEffects(view, slot));
    appendSamples(view, slot, left, right);
  }
  return el("tr", { class: "more" }, el("td", { colspan: view.columns.length }, el("div", { class: "detail" }, left, right)));
}

function topContexts(view, n) {
  const { neurons, begin } = view, strongest = [];
  for (let i = begin[n]; i < begin[n + 1]; i++) if (neurons.tops[i] !== NONE32) strongest.push([neurons.values[i], neurons.tops[i]]);
  const found = el("div", {}, el("h4", {}, "Top contexts"), strongest.length ? contextList(view, strongest) : el("p", { class: "muted" }, "Not in this page: it would have outgrown its budget."));
  if (!view.slots.has(n) && strongest.length) found.append(el("p", { class: "muted" }, "More contexts, samples and logits of this neuron would have outgrown the page's budget."));
  return found;
}

function neuronEvidence(view, n) {
  const { neurons } = view, { tags } = neurons, q = neurons.q[n], word = wordEvidence(view, n);
  const interval = `AUROC on random tokens ${two(neurons.auroc[n])} [${two(neurons.auroc_low[n])}, ${two(neurons.auroc_high[n])}]`;
  return neurons.label[n] === UNLABELLED
    ? `No part of speech passes: the nearest is ${tags[neurons.best[n]]}, ${percent(neurons.share[n], 0)} of ${neurons.distinct[n]} different top words, ${two(neurons.lift[n])} times its base rate, ${interval}, q = ${q.toFixed(3)}.${word}`
    : `${tags[neurons.label[n]]}: ${percent(neurons.share[n], 0)} [${percent(neurons.share_low[n], 0)}, ${percent(neurons.share_high[n], 0)}] of ${neurons.distinct[n]} different top words, ${two(neurons.lift[n])} times its base rate; ${interval}; false discovery rate of both ${q < 0.001 ? "below 0.001" : q.toFixed(3)}.${word}`;
}

// What other stories say of the label; empty where there is none.
function testEvidence(view, n) {
  const { tests } = view.neurons, i = tests.at.get(n), test = testOf(view, n);
  if (test === "") return "";
  if (i === undefined) return `Untested: ${tests.labelled} of the stories alone do not give this label.`;
  const whole = (x) => percent(x, 0);
  if (test === "untested") return `Untested: there are ${tests.positives[i]} such tokens on the ${tests.tested} other stories.`;
  return `${test === "predicts" ? "Predicts" : "Does not predict (a tail selector)"}: made on ${tests.labelled} stories and tested on ${tests.tested} others${view.neurons.by_word[n] ? "" : ", without the words that gave the label"}, AUROC ${two(tests.auroc[i])}, at least ${two(tests.auroc_low[i])}${view.neurons.by_word[n] ? "" : `, and among words of like frequency at least ${two(tests.alike_low[i])} over tokens and ${two(tests.words_low[i])} over words`}; of its highest tenth ${whole(tests.precision[i])} are such tokens (of all ${whole(tests.base_rate[i])}), which finds ${whole(tests.recall[i])} of them.`;
}

// A sentence on the one word that is most of a neuron's top tokens; empty where there is none.
function wordEvidence(view, n) {
  const { neurons } = view;
  if (!(neurons.word_share[n] >= 0.9)) return "";
  return ` ${percent(neurons.word_share[n], 0)} of its top tokens are “${wordOf(view, n)}”; ` + (Number.isFinite(neurons.word_auroc_low[n])
    ? `its AUROC on random tokens is ${two(neurons.word_auroc[n])}, at least ${two(neurons.word_auroc_low[n])}.` : "it is too rare among the random tokens to be tested.");
}

function logitEffects(view, slot) {
  const { promoted, suppressed, effects } = view.neurons;
  return [["Raises the logits of", promoted], ["Lowers the logits of", suppressed]].flatMap(([title, ids]) =>
    [el("h4", {}, title), el("p", {}, Array.from(ids.subarray(slot * effects, (slot + 1) * effects), (t) => el("span", { class: "word" }, visible(view.vocabulary[t]))))]);
}

// Examples about each quantile, the upper ones below the top contexts, and examples drawn at random.
function appendSamples(view, slot, left, right) {
  const { levels, each, places, index, values, random, drawn } = view.neurons.samples;
  levels.forEach((level, q) => {
    const items = [];
    for (let e = 0; e < each; e++) { const i = (slot * levels.length + q) * each + e; if (index[i] !== NONE16) items.push([values[i], places[index[i]]]); }
    (q < levels.length / 2 ? left : right).append(el("h4", {}, `About the ${percent(level, level > 0.99 || level < 0.01 ? 1 : 0)} quantile of all tokens`), contextList(view, items));
  });
  const chosen = Array.from(random.subarray(slot * drawn, (slot + 1) * drawn), (v, i) => [v, places[i]]);
  if (chosen.length) right.append(el("h4", {}, "Drawn at random"), contextList(view, chosen));
}
