// The model in the page: it writes, and parts of it can be switched off or scaled. A worker runs it (`live-worker.js`).

const DEEPEST = 8; // nats of the full colour
const GUESSES = 3; // of the lens, at each depth
const VARIANTS = { as: "As it is", changed: "With the changes" };

// Every function below takes `view`: the model's shape, what is chosen, what was answered, and the nodes that change.
function liveSection({ live: shape }) {
  const view = {
    shape, edits: new Map(), part: ["head", 0, 0], ids: [], fresh: false, losses: { as: [], changed: null }, written: { as: [], changed: [] }, ends: {}, asked: false,
    at: null, number: 0, wanted: {}, shown: null, worker: null, sides: {},
    text: el("textarea", { id: "live-text", rows: 2, spellcheck: "false", maxlength: 20000, oninput: () => { view.fresh = false; clearTimeout(view.pending); view.pending = setTimeout(() => readAgain(view), 250); } }),
    status: el("p", { class: "muted small key", id: "live-status", role: "status" }, "The model is loaded when this is seen."),
    lens: el("div", { id: "live-lens", class: "scroll" }), token: el("p", { class: "small", id: "live-token" }),
  };
  view.text.value = shape.beginning;
  byId("live-view").append(el("label", { class: "beginning" }, el("span", {}, "A beginning"), view.text), writingBar(view), partBar(view), view.status,
    el("div", { class: "columns live" }, Object.keys(VARIANTS).map((side) => sidePanel(view, side))),
    el("div", { class: "panel lens-of" }, el("h3", {}, "Logit lens after a token"), view.token, view.lens));
  followParts(view);
  const seen = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) { seen.disconnect(); startWorker(view); } }, { rootMargin: "300px" });
  seen.observe(byId("live-view"));
}

function startWorker(view) {
  const fail = (why) => { view.status.textContent = `The model cannot run in this browser: ${why}`; };
  try {
    view.worker = new Worker(URL.createObjectURL(new Blob([byId("live-worker").textContent], { type: "text/javascript" })));
  } catch (error) {
    return fail(error.message);
  }
  view.status.textContent = "The model is being loaded …";
  view.worker.onerror = (event) => fail(event.message || "its worker was refused");
  view.worker.onmessage = ({ data }) => answered(view, data);
  view.worker.postMessage({ kind: "load", text: byId("live-model").textContent });
}

// Ask the worker; of two questions of one kind only the later one's answer is shown.
function askModel(view, kind, question) {
  view.wanted[kind] = ++view.number;
  if (view.shown) view.worker.postMessage({ kind, number: view.number, edits: editsOf(view), ...question });
}

function answered(view, data) {
  if (data.kind === "ready") {
    view.shown = data.shown;
    view.button.disabled = false;
    document.body.dataset.live = "ready";
    return askModel(view, "read", { text: view.text.value });
  }
  if (data.number !== view.wanted[data.kind]) return;
  ({ read: showRead, write: showWritten, lens: showLens })[data.kind](view, data);
}

// The parts that are changed, as the worker takes them: [kind, layer, number, scale].
const editsOf = (view) => [...view.edits.values()];
const partName = ([kind, layer, number]) => `${kind} ${layer}.${number}`;
const scaleOf = (view) => view.edits.get(partName(view.part))?.[3] ?? 1;
const shownText = (text) => (visible(text) === text ? text : visible(text) + (text.includes("\n") ? "\n" : ""));
const quotedToken = (view, id) => `“${visible(view.shown[id]).trim() || "␣"}”`;

// The text was changed: its loss is read anew, and what was written after another is gone.
function readAgain(view, said = true) {
  clearTimeout(view.pending);
  stopWriting(view);
  view.fresh = false;
  view.written = { as: [], changed: [] };
  view.ends = {};
  if (said) {
    forget("write");
    tell("text", view.text.value);
  }
  askModel(view, "read", { text: view.text.value });
}

function showRead(view, { ids, losses, changed, tokens, room }) {
  if (!ids) {
    view.ids = [];
    view.status.textContent = `This text has ${tokens.toLocaleString("en")} tokens with the one that begins it; the model reads at most ${(room - 1).toLocaleString("en")} and writes one. Shorten it.`;
    Object.keys(VARIANTS).forEach((side) => showSide(view, side));
    return;
  }
  const same = ids.join() === view.ids.join();
  view.ids = ids;
  view.fresh = true;
  view.losses = { as: losses, changed };
  view.status.replaceChildren("Colour: loss of a token, 0 ", ramp(), ` ${DEEPEST} nats or more. Choose a token to see the lens after it.${view.edits.size ? " A wavy line marks where the texts part." : ""}`);
  if (!same || !view.at || view.at.i >= rowOf(view, view.at.side).length) view.at = { side: "as", i: ids.length - 1 };
  Object.keys(VARIANTS).forEach((side) => showSide(view, side));
  askLens(view);
  if (view.asked) writeAgain(view);
}

// A part was changed: everything is asked again.
function changeParts(view) {
  if (!view.edits.size && view.at?.side === "changed") view.at = null;
  view.written.changed = [];
  delete view.ends.changed;
  view.edits.size ? tell("parts", editsOf(view).map(([kind, layer, number, scale]) => `${kind}.${layer}.${number}*${scale}`).join(" ")) : forget("parts");
  showParts(view);
  askModel(view, "read", { text: view.text.value });
}

// The reader wants it written, perhaps before the text that was typed last is read.
function write(view) {
  const numbers = numbersOf(view);
  if (!numbers) return;
  if (!view.fresh) readAgain(view);
  view.asked = true;
  tell("write", numbers.join());
  if (view.fresh) writeAgain(view);
}

// Temperature, seed and tokens at most; null where one of them is out of its bounds.
function numbersOf(view) {
  return view.numbers.every((field) => field.reportValidity()) ? view.numbers.map((field) => Number(field.value)) : null;
}

function writeAgain(view) {
  const numbers = numbersOf(view);
  if (!numbers || !view.ids.length) return;
  const [temperature, seed, most] = numbers;
  askModel(view, "write", { ids: view.ids, temperature, seed, most });
}

function showWritten(view, { which, written, text, ended }) {
  view.written[which] = written;
  view.ends[which] = ended;
  view.sides[which].panel.dataset.text = text;
  showSide(view, which);
}

const signed = (x) => `${x < 0 ? "−" : "+"}${number(Math.abs(x))}`;
const rowOf = (view, side) => [...view.ids, ...view.written[side]];

// The text with its loss by token, and what is written after it.
function showSide(view, side) {
  const { text, loss, end, hint } = view.sides[side], losses = view.losses[side], off = side === "changed" && !view.edits.size, typed = view.ids.length;
  hint.hidden = !off;
  text.hidden = loss.hidden = end.hidden = off || !typed;
  if (text.hidden) return;
  const mean = (of) => of.reduce((sum, x) => sum + x, 0) / of.length;
  loss.textContent = losses?.length ? `Loss of the beginning: ${number(mean(losses))} nats per token${side === "changed" ? `, ${signed(mean(losses) - mean(view.losses.as))}` : ""}` : "Type a text to see its loss.";
  const row = rowOf(view, side), other = rowOf(view, "as"), fork = side === "changed" ? row.findIndex((id, i) => i < other.length && id !== other[i]) : -1;
  text.replaceChildren(...row.map((id, i) => el("span", {
    class: `t${i === 0 ? " bos" : i < typed ? " typed" : ""}${i === fork ? " fork" : ""}${view.at?.side === side && view.at.i === i ? " at" : ""}`, "data-i": i,
    style: i && i < typed && losses ? `--a:${(0.75 * clamp(losses[i - 1] / DEEPEST, 0, 1)).toFixed(3)}` : null, title: i && i < typed && losses ? `${number(losses[i - 1])} nats` : null,
  }, shownText(view.shown[id]))));
  end.textContent = view.ends[side] === undefined ? "" : view.ends[side] === null ? `${view.written[side].length} tokens …` : `${view.written[side].length} tokens: ${view.ends[side]}.`;
}

function sidePanel(view, side) {
  const text = el("p", { class: "text", tabindex: 0, "aria-label": `${VARIANTS[side]}: choose a token with the arrow keys to see the lens after it` });
  const at = (i) => { view.at = { side, i }; Object.keys(VARIANTS).forEach((each) => showSide(view, each)); askLens(view); };
  text.addEventListener("click", (event) => { const i = event.target.dataset?.i; if (i !== undefined) at(Number(i)); });
  text.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    at(clamp((view.at?.side === side ? view.at.i : 0) + step, 0, text.children.length - 1));
  });
  view.sides[side] = { text, loss: el("p", { class: "small loss" }), end: el("p", { class: "muted small end" }), hint: el("p", { class: "muted small" }, "Switch a head or a neuron off, or scale it: here is what becomes of the loss, the lens and the text.") };
  view.sides[side].hint.hidden = side === "as";
  view.sides[side].panel = el("div", { class: "panel", id: `live-${side}` }, el("h3", {}, VARIANTS[side]), ...["hint", "loss", "text", "end"].map((part) => view.sides[side][part]));
  return view.sides[side].panel;
}

function askLens(view) {
  if (view.at && view.ids.length) askModel(view, "lens", { ids: rowOf(view, view.at.side).slice(0, view.at.i + 1), k: GUESSES });
}

function showLens(view, { as, changed }) {
  const { side, i } = view.at, row = rowOf(view, side), losses = i && i < view.ids.length ? [view.losses.as, view.losses.changed].filter(Boolean).map((of) => number(of[i - 1])) : [];
  view.token.textContent = `After ${quotedToken(view, row[i])}, token ${i}${losses.length ? `, whose own loss is ${losses.join(" nats, and with the changes ")} nats` : ""}: what each depth would say next, by the final norm and unembedding.`;
  const guesses = (of) => el("td", {}, of.map(([id, p], rank) => el("span", { class: rank ? "muted" : null }, el("span", { class: "word" }, visible(view.shown[id])), `${percent(p, 0)} `)));
  const head = ["depth", "as it is", ...(changed ? ["with the changes"] : [])].map((name) => el("th", { scope: "col" }, name));
  view.lens.replaceChildren(el("table", { class: "live" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, as.map((of, depth) => el("tr", { class: changed && changed[depth][0][0] !== of[0][0] ? "differs" : null },
    el("th", { scope: "row" }, depth ? `block ${depth - 1}` : "embedding"), guesses(of), changed ? guesses(changed[depth]) : null)).reverse())));
}
