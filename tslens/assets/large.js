// One head's attention over the whole window or screen: zoomed by buttons and keys, read cell by cell.

const SIDES = { least: 2, most: 48, names: 88, legible: 8 }; // pixels: of a cell, of the names beside it, of a cell with a name

function largeAttention(view) {
  const large = { view, side: 12, at: null, canvas: null, title: el("h3"), plane: el("div", { class: "plane" }), mark: el("i", { class: "mark" }), readout: el("p", { class: "small readout", "aria-live": "polite" }) };
  const button = (text, label, press) => el("button", { type: "button", class: "plain", "aria-label": label, onclick: press }, text);
  large.scroller = el("div", { class: "scroller" }, large.plane);
  large.stage = el("div", { class: "stage" },
    el("div", { class: "bar" }, large.title, button("‹", "Previous head", () => stepHead(large, -1)), button("›", "Next head", () => stepHead(large, 1)),
      button("−", "Smaller", () => zoom(large, large.side / 1.3)), button("+", "Larger", () => zoom(large, large.side * 1.3)), button("Fit", "Fit into the window", () => zoom(large, fitting(large))),
      document.fullscreenEnabled ? button("Full screen", "Full screen, or back to the window", () => (document.fullscreenElement ? document.exitFullscreen() : large.stage.requestFullscreen())) : "",
      button("Close", "Close the large view", () => large.dialog.close())),
    large.scroller, large.readout);
  large.dialog = el("dialog", { class: "large", id: "large", "aria-label": "Attention of one head, large", onclose: () => { if (document.fullscreenElement) document.exitFullscreen(); if (chosen.get("view") === "large") forget("view"); } }, large.stage);
  byId("heads-view").append(large.dialog);
  large.dialog.addEventListener("keydown", (event) => zoomKeys(large, event));
  large.open = () => { if (!large.dialog.open) large.dialog.showModal(); drawLarge(large); zoom(large, fitting(large)); large.canvas.focus(); };
  return large;
}

// The largest cell with which the whole matrix is seen and needs no scroll bars, without names where they would not be legible.
function fitting({ view, scroller }) {
  const room = Math.min(scroller.offsetWidth, scroller.offsetHeight) - 4, n = tokensShown(view), named = (room - SIDES.names) / n;
  return named >= SIDES.legible ? named : Math.min(room / n, SIDES.legible - 0.01);
}

function drawLarge(large) {
  const { view } = large, story = view.withAttention[view.story], n = tokensShown(view);
  large.names = Array.from(story.tokens.subarray(0, n), (t) => tokenShown(view.vocabulary[t]));
  large.title.textContent = `${headName(view, view.head)}: ${view.heads.roles[view.heads.role[view.head]].name}`;
  large.canvas = weightPicture(story, view.head, n);
  for (const [key, value] of Object.entries({ tabindex: 0, role: "img", "aria-label": "Attention matrix: the arrow keys move from cell to cell, + and - zoom" })) large.canvas.setAttribute(key, value);
  large.canvas.addEventListener("pointermove", (event) => {
    const box = large.canvas.getBoundingClientRect(), place = (x, size) => clamp(Math.floor((x / size) * n), 0, n - 1);
    readPair(large, place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width), false);
  });
  large.canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    readPair(large, clamp(large.at[0] + step[0], 0, n - 1), clamp(large.at[1] + step[1], 0, n - 1), true);
  });
  const side = (which) => el("div", { class: which, "aria-hidden": "true" }, large.names.map((name) => el("span", {}, name)));
  large.plane.replaceChildren(el("div", { class: "corner" }), side("across"), side("down"), el("div", { class: "matrix" }, large.canvas, large.mark));
  const rows = attentionRows(story, view.head, n);
  large.weight = (i, j) => (j <= i ? rows[i][j] : null);
  const i = Math.min(view.token ?? n - 1, n - 1);
  readPair(large, i, rows[i].indexOf(Math.max(...rows[i])), false);
}

function zoom(large, side) {
  large.side = clamp(side, SIDES.least, SIDES.most);
  large.plane.style.setProperty("--side", `${large.side}px`);
  large.plane.style.setProperty("--count", tokensShown(large.view));
  large.plane.classList.toggle("nameless", large.side < SIDES.legible);
  readPair(large, ...large.at, false);
}

function zoomKeys(large, event) {
  const side = { "+": large.side * 1.3, "=": large.side * 1.3, "-": large.side / 1.3, 0: fitting(large) }[event.key];
  if (side === undefined || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  zoom(large, side);
}

function stepHead(large, step) {
  const { view } = large, count = view.layers * view.width;
  selectHead(view, (view.head + step + count) % count, false);
  drawLarge(large);
  zoom(large, large.side);
}

// Query i and key j, which a frame marks; `reveal` scrolls there.
function readPair(large, i, j, reveal) {
  const { view, names, mark } = large, weight = large.weight(i, j);
  large.at = [i, j];
  mark.style.setProperty("--i", i);
  mark.style.setProperty("--j", j);
  large.readout.textContent = `“${names[i]}” (${i}) ${weight === null ? `stands before “${names[j]}” (${j}) and cannot look at it` : `looks at “${names[j]}” (${j}) with ${percent(weight)} of its attention`}.${large.side < SIDES.legible ? " Larger cells have the names of their tokens." : ""}`;
  if (reveal) mark.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (i !== view.token) chooseToken(view, i);
}
