// The controls of the model in the page: how it writes, and which of its parts are changed.

function writingBar(view) {
  const field = (label, attributes) => { const input = el("input", { type: "number", required: true, ...attributes }); return [input, el("label", { class: "field" }, label, input)]; };
  const made = [
    field("Temperature", { id: "live-temperature", min: 0, max: 5, step: 0.05, value: 0, title: "0 writes the likeliest token each time, as tslens generate --temperature 0 does" }),
    field("Seed", { id: "live-seed", min: 0, max: 4294967295, step: 1, value: 0, title: "The same seed draws the same text in this page; tslens generate draws others" }),
    field("Tokens at most", { id: "live-most", min: 1, max: view.shape.context, step: 1, value: Math.min(200, view.shape.context) }),
  ];
  view.numbers = made.map(([input]) => input);
  view.button = el("button", { type: "button", class: "plain", id: "live-write", disabled: true, onclick: () => write(view) }, "Write");
  const stop = el("button", { type: "button", class: "plain", onclick: () => { stopWriting(view); forget("write"); } }, "Stop");
  return el("div", { class: "bar" }, view.button, stop, made.map(([, label]) => label));
}

function stopWriting(view) {
  view.asked = false;
  view.wanted.write = ++view.number;
  if (view.shown) view.worker.postMessage({ kind: "stop", number: view.number });
}

function partBar(view) {
  const { layers, heads, neurons } = view.shape, change = (scale) => setScale(view, scale);
  const kind = choose("Part", [["head", "head"], ...(neurons ? [["neuron", "neuron"]] : [])], (value) => choosePart(view, [value, view.part[1], 0]));
  const layer = choose("Layer", Array.from({ length: layers }, (_, l) => [l, String(l)]), (value) => choosePart(view, [view.part[0], Number(value), view.part[2]]));
  const place = el("input", { type: "number", id: "live-number", min: 0, step: 1, value: 0, required: true, onchange: () => { if (place.reportValidity()) choosePart(view, [view.part[0], view.part[1], Number(place.value)]); } });
  const slider = el("input", { type: "range", id: "live-scale", min: 0, max: 2, step: 0.05, value: 1, "aria-label": "Scale of the part: 0 is off, 1 as it is", oninput: () => change(Number(slider.value)) });
  const value = el("output", { class: "scale", for: "live-scale" }), list = el("ul", { class: "legend parts", id: "live-parts", "aria-label": "Changed parts: press one to undo its change" });
  const button = (text, id, act) => el("button", { type: "button", class: "plain", id, onclick: act }, text);
  kind.select.id = "live-kind";
  layer.select.id = "live-layer";
  view.fields = { kind: kind.select, layer: layer.select, place, slider, value, list, most: { head: heads - 1, neuron: neurons - 1 } };
  showParts(view);
  return el("div", { class: "parts" }, el("div", { class: "bar" }, kind.field, layer.field, el("label", { class: "field" }, "Number", place),
    el("label", { class: "field scale" }, "Scale", slider, value), button("Off", "live-off", () => change(0)), button("Undo all", "live-undo", () => { view.edits.clear(); changeParts(view); })), list);
}

function choosePart(view, [kind, layer, number]) {
  view.part = [kind, layer, clamp(number, 0, view.fields.most[kind])];
  showParts(view);
}

// The chosen part's scale; 1 is no change.
function setScale(view, scale) {
  if (scale === 1) view.edits.delete(partName(view.part));
  else view.edits.set(partName(view.part), [...view.part, scale]);
  changeParts(view);
}

function showParts(view) {
  const { kind, layer, place, slider, value, list, most } = view.fields, [of, l, i] = view.part;
  kind.value = of;
  layer.value = String(l);
  place.max = most[of];
  place.value = String(i);
  slider.value = String(scaleOf(view));
  value.textContent = `× ${scaleOf(view)}`;
  list.replaceChildren(...editsOf(view).map((edit) => el("li", {}, el("button", { type: "button", title: "Undo this change", onclick: () => { view.edits.delete(partName(edit)); changeParts(view); } }, `${partName(edit)} × ${edit[3]}`, el("span", { "aria-hidden": "true" }, "✕")))));
}

// The head or neuron that was chosen elsewhere; the text and the changed parts that an address names.
function followParts(view) {
  const { layers, heads, neurons } = view.shape, of = (kind, width) => (value) => {
    const place = placeOf(value, layers, width);
    if (place !== null) choosePart(view, [kind, Math.floor(place / width), place % width]);
  };
  follow("head", of("head", heads));
  follow("neuron", of("neuron", neurons));
  follow("text", (value) => {
    const text = value ?? view.shape.beginning;
    if (text !== view.text.value) { view.text.value = text; readAgain(view, false); }
  });
  follow("parts", (said) => {
    const found = (said ?? "").split(" ").map((part) => part.match(/^(head|neuron)\.(\d+)\.(\d+)\*(\d(?:\.\d+)?)$/)).filter(Boolean)
      .map(([, kind, layer, number, scale]) => [kind, Number(layer), Number(number), Number(scale)])
      .filter(([kind, layer, number, scale]) => layer < layers && number < { head: heads, neuron: neurons }[kind] && scale <= 2);
    if (found.map(String).join() === editsOf(view).map(String).join()) return;
    view.edits = new Map(found.map((edit) => [partName(edit), edit]));
    if (found.length) choosePart(view, found[0].slice(0, 3));
    changeParts(view);
  });
  follow("write", (value) => {
    const [, ...numbers] = value?.match(/^(\d+(?:\.\d+)?),(\d+),(\d+)$/) ?? [];
    if (!numbers.length || value === numbersOf(view)?.join() && view.asked) return;
    view.numbers.forEach((field, i) => { field.value = numbers[i]; });
    view.asked = true;
    if (view.fresh) writeAgain(view);
  });
}
