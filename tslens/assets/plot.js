// What every picture is drawn with. Text is only ever set as text, never as markup.

const NONE16 = 0xffff, NONE32 = 0xffffffff;

function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const byId = (id) => document.getElementById(id);
const percent = (p, digits = 1) => `${(100 * p).toFixed(digits)}%`;
// A count, with the counts of untrained twins where they are known.
const beside = (n, twins) => (twins ? `${n.toLocaleString("en")} (twins: ${twins})` : n.toLocaleString("en"));
const number = (x) => (Number.isFinite(x) ? (Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : x.toFixed(Math.abs(x) >= 100 ? 1 : Math.abs(x) >= 10 ? 2 : 3)) : "–");
const visible = (text) => text.replace(/\n/g, "↵").replace(/\t/g, "⇥");
// A token in a list or a label: white space is named, but for spaces.
const tokenShown = (text) => visible(text.trim()) || (/\n.*\n/s.test(text) ? "newlines" : text.includes("\n") ? "newline" : text.includes("\t") ? "tab" : "␣");
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

// A select whose options are [value, text], the first one chosen or `begin`; the address keeps it where there is a key.
function choose(label, options, onchange, key = null, begin = null) {
  const select = el("select", { onchange: () => { onchange(select.value); told?.(); } }, options.map(([value, text]) => el("option", { value }, text)));
  if (begin !== null) select.value = begin;
  const told = key && keep(key, select, onchange);
  return { select, field: el("label", { class: "field" }, label, select) };
}

// Buttons of which one is pressed, the first or the one of the value that `press` is given.
function switchOf(label, options, onchange) {
  const buttons = options.map(([value, text]) => el("button", { type: "button", onclick: () => onchange(value) }, text));
  const press = (value) => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(options[i][0] === value)));
  press(options[0][0]);
  return { buttons: el("div", { class: "switch", role: "group", "aria-label": label }, buttons), press };
}

// The picture as a file of its own: what the style sheet says is written into every shape.
function standalone(picture) {
  const copy = picture.cloneNode(true), box = picture.viewBox.baseVal;
  const kept = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family"];
  const live = [picture, ...picture.querySelectorAll("*")], dead = [copy, ...copy.querySelectorAll("*")];
  live.forEach((node, i) => {
    const style = getComputedStyle(node);
    ["style", "class", "tabindex", "fill", ...kept].forEach((key) => dead[i].removeAttribute(key));
    for (const key of kept) dead[i].style.setProperty(key, style.getPropertyValue(key));
  });
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--panel");
  copy.prepend(svg("rect", { x: box.x, y: box.y, width: box.width, height: box.height, fill: paper }));
  return new XMLSerializer().serializeToString(copy);
}

function saveButton(name, picture) {
  return el("button", { type: "button", class: "plain save", "aria-label": `Save the ${name} plot as SVG`, onclick: () => {
    const url = URL.createObjectURL(new Blob([standalone(picture())], { type: "image/svg+xml" }));
    el("a", { href: url, download: `${document.body.dataset.model}-${name}.svg`.replace(/[^\w.-]+/g, "_") }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  } }, "Save SVG");
}

// About `count` round numbers across a range.
function ticks(low, high, count) {
  const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-6; t += step) found.push(Number(t.toPrecision(8)));
  return found;
}
const compact = (x) => (Math.abs(x) >= 1e6 ? `${x / 1e6}M` : Math.abs(x) >= 1e4 ? `${x / 1e3}k` : String(x));

const NARROW = matchMedia("(max-width: 640px)"); // as in the style sheet: charts are drawn for the width at which they are read
const SERIES = ["var(--first)", "var(--second)", "var(--third)", "var(--fourth)"];

// Lines over a common x. `series`: [{name, values}] with null where there is no value. Pointer or arrow keys read it off.
function lineChart(options) {
  const { label, x, series, xLabel, yLabel, dots = false } = options, frame = chartFrame(options);
  const picture = svg("svg", { class: "plot", viewBox: `0 0 ${frame.W} ${frame.H}`, role: "img", "aria-label": label, tabindex: 0 });
  picture.append(...chartAxes(frame, xLabel, yLabel), ...series.flatMap((s, k) => chartLine(frame, x, s, SERIES[k % 4], dots)));
  const hair = svg("line", { class: "hair", y1: frame.top, y2: frame.H - frame.bottom, visibility: "hidden" });
  picture.append(chartKey(frame, series), hair);
  return { picture, readout: chartReadout(frame, options, picture, hair) };
}

// The chart's measures: its size and margins, the range of both axes, and from a value to its place on each.
function chartFrame({ x, series, zero = false, height = 300 }) {
  const W = NARROW.matches ? 380 : 620, left = 54, right = 16, key = keyPlaces(series, left, W), top = 18 + 18 * key.rows, bottom = 46, H = height + 18 * (key.rows - 1);
  const all = series.flatMap((s) => [...s.values, ...(s.high ?? []), ...(s.low ?? [])]).filter((v) => v !== null);
  let low = zero ? 0 : Math.min(...all), high = Math.max(...all);
  const room = (high - low || 1) * 0.06;
  high += room;
  if (!zero) low -= room;
  const x0 = Math.min(...x), x1 = Math.max(...x);
  const px = (v) => left + ((v - x0) / (x1 - x0 || 1)) * (W - left - right);
  const py = (v) => H - bottom - ((v - low) / (high - low)) * (H - top - bottom);
  return { W, H, left, right, top, bottom, low, high, x0, x1, px, py, key };
}

function chartAxes({ W, H, left, right, top, bottom, low, high, x0, x1, px, py }, xLabel, yLabel) {
  const across = ticks(low, high, 5).flatMap((t) => [svg("line", { class: "grid", x1: left, x2: W - right, y1: py(t), y2: py(t) }),
    svg("text", { x: left - 9, y: py(t) + 4, "text-anchor": "end", "font-size": 12 }, compact(t))]);
  const below = ticks(x0, x1, W / 100).map((t) => svg("text", { x: px(t), y: H - bottom + 20, "text-anchor": "middle", "font-size": 12 }, compact(t)));
  return [...across, ...below, svg("text", { x: (left + W - right) / 2, y: H - 4, "text-anchor": "middle", "font-size": 12.5 }, xLabel),
    svg("text", { x: 14, y: (H - bottom + top) / 2, "text-anchor": "middle", "font-size": 12.5, transform: `rotate(-90 14 ${(H - bottom + top) / 2})` }, yLabel)];
}

// One line, with its interval as a band and its points where they are few.
function chartLine({ px, py }, x, s, colour, dots) {
  const path = (points) => points.map(([a, b]) => `${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("L"), drawn = [];
  if (s.low) drawn.push(svg("path", { d: `M${path([...x.map((v, i) => [v, s.low[i]]), ...x.map((v, i) => [v, s.high[i]]).reverse()])}Z`, fill: colour, "fill-opacity": 0.16 }));
  const points = x.map((v, i) => [v, s.values[i]]).filter(([, v]) => v !== null);
  drawn.push(svg("path", { d: points.length ? `M${path(points)}` : "", fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-linejoin": "round" }));
  if (dots || points.length < 24) drawn.push(...points.map(([a, b]) => svg("circle", { cx: px(a), cy: py(b), r: 3.2, fill: colour })));
  return drawn;
}

// Where the name of each line stands above the chart, in as many rows as they need.
function keyPlaces(series, left, W) {
  let at = left, row = 0;
  const places = series.map(({ name }) => {
    const width = 7.2 * name.length + 42;
    if (at > left && at + width > W) { at = left; row++; }
    at += width;
    return [at - width, 18 * row];
  });
  return { places, rows: row + 1 };
}

function chartKey({ key }, series) {
  return svg("g", {}, series.flatMap((s, k) => {
    const [x, y] = key.places[k];
    return [svg("rect", { x, y: y + 7, width: 16, height: 4, rx: 2, fill: SERIES[k % 4] }), svg("text", { class: "strong", x: x + 22, y: y + 13, "font-size": 12.5 }, s.name)];
  }));
}

// A line of text with the values at the place that the pointer or the arrow keys choose, where `hair` stands.
function chartReadout({ W, left, right, x0, x1, px }, { x, series, xLabel }, picture, hair) {
  const readout = el("p", { class: "readout", "aria-live": "polite" }, "Point at the curve, or focus it and use the arrow keys, to read its values.");
  let at = x.length - 1;
  const read = (i) => {
    at = clamp(i, 0, x.length - 1);
    hair.setAttribute("x1", px(x[at]));
    hair.setAttribute("x2", px(x[at]));
    hair.setAttribute("visibility", "visible");
    readout.textContent = `${xLabel} ${x[at].toLocaleString("en")}: ` + series.filter((s) => s.values[at] !== null).map((s) => `${s.name} ${number(s.values[at])}${s.low ? ` [${number(s.low[at])}, ${number(s.high[at])}]` : ""}`).join(", ");
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(), v = x0 + (((event.clientX - box.left) / box.width) * W - left) / (W - left - right) * (x1 - x0);
    read(x.reduce((best, value, i) => (Math.abs(value - v) < Math.abs(x[best] - v) ? i : best), 0));
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { read(at + step); event.preventDefault(); }
  });
  return readout;
}

function showChart(place, name, options) {
  const draw = () => {
    const { picture, readout } = lineChart(options);
    byId(place).replaceChildren(picture, el("div", { class: "bar" }, readout, saveButton(name, () => picture)));
  };
  NARROW.addEventListener("change", draw);
  draw();
}
