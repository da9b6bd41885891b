// A few neurons in whole stories: every token shaded by the activation, the strongest of each story framed.

const ZERO = 128; // of an activation in steps; 127 either way
const FULL = 0.6; // opacity of the largest magnitude, under which text stays legible

function wholeSection({ whole, vocabulary }, table) {
  const view = { whole, vocabulary, table, neuron: 0, stories: el("div", { class: "samples" }), about: el("p", { class: "muted" }), readout: el("p", { class: "readout", "aria-live": "polite" }) };
  const name = ([layer, neuron]) => `${layer}.${neuron}`;
  const choice = choose("Neuron", whole.neurons.map((place, i) => [i, `${name(place)}: ${whole.reasons[i]}`]), (value) => { showWhole(view, Number(value)); tell("whole", name(whole.neurons[view.neuron])); });
  byId("neurons-view").append(el("div", { id: "whole" }, el("h3", {}, "In whole stories"),
    el("p", { class: "muted" }, "Three choices that were made for models of TinyStories (Eldan and Li 2023): the first neurons of the last layer, the first of another, and the one with the largest activation of all. The order within a layer is arbitrary, so the first neurons are chosen without looking."),
    el("div", { class: "bar" }, choice.field), view.about, view.readout, view.stories));
  showWhole(view, 0);
  follow("whole", (value) => {
    const i = Math.max(0, whole.neurons.findIndex((place) => name(place) === value));
    if (i === view.neuron) return;
    choice.select.value = String(i);
    showWhole(view, i);
  });
}

function showWhole(view, i) {
  const { whole, table } = view, [layer, neuron] = whole.neurons[i], count = whole.tokens.length;
  view.neuron = i;
  const n = table ? layer * table.neurons.width + neuron : null, label = table ? labelOf(table, n) : "", test = table ? testOf(table, n) : "";
  view.steps = whole.values.subarray(i * count, (i + 1) * count);
  view.about.replaceChildren(table ? el("a", { href: `#neuron=${layer}.${neuron}` }, `Neuron ${layer}.${neuron}`) : `Neuron ${layer}.${neuron}`,
    `: ${label}${test && test !== "predicts" ? `, ${test}` : ""}. Full colour: ${whole.most[i].toFixed(2)}, the largest magnitude in these stories; above zero `, el("mark", { class: "above" }, "so"), ", below ", el("mark", { class: "below" }, "so"), ". The strongest token of each story is framed.");
  view.readout.textContent = "Point at a token, or focus a story and use the arrow keys, to read its activation.";
  let begin = 0;
  view.stories.replaceChildren(...whole.lengths.map((length, story) => { begin += length; return wholeStory(view, story, begin - length, length); }));
}

function wholeStory(view, story, begin, length) {
  const { whole, vocabulary, steps } = view, places = Array.from({ length }, (_, pos) => pos), strongest = places.slice(1).reduce((best, pos) => (steps[begin + pos] > steps[begin + best] ? pos : best), 1);
  const spans = places.map((pos) => {
    const text = vocabulary[whole.tokens[begin + pos]], step = steps[begin + pos] - ZERO;
    return el("span", { class: `t${pos === 0 ? " bos" : ""}${step < 0 ? " below" : ""}${pos === strongest ? " most" : ""}`, "data-pos": pos, style: `--a:${(pos ? (FULL * Math.abs(step)) / 127 : 0).toFixed(3)}` }, visible(text) === text ? text : visible(text) + (text.includes("\n") ? "\n" : ""));
  });
  let at = 0;
  const read = (pos) => {
    spans[at].classList.remove("at");
    at = pos;
    spans[at].classList.add("at");
    view.readout.textContent = `Story ${story + 1}, “${pos ? tokenShown(vocabulary[whole.tokens[begin + pos]]) : "the beginning"}” (${pos}): ${(((steps[begin + pos] - ZERO) / 127) * whole.most[view.neuron]).toFixed(2)}`;
  };
  const point = (event) => { const pos = event.target.dataset?.pos; if (pos !== undefined) read(Number(pos)); };
  return el("article", {}, el("p", { class: "text story", tabindex: 0, "aria-label": `Story ${story + 1}: choose a token with the arrow keys to read its activation`, onpointerover: point, onclick: point, onkeydown: (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { read(clamp(at + step, 0, length - 1)); event.preventDefault(); }
  } }, spans));
}
