// What is chosen, kept in the page's address: a link opens what was seen, and sections that show the same story move
// together.

const SECTIONS = { head: "heads", story: "heads", token: "heads", first: "heads", view: "heads", layer: "lens", neuron: "neurons", whole: "whole", text: "live", parts: "live" }; // of each key
const chosen = new Map(), followers = [];
let live = false, pending;

// Calls `change` with the values of a key that an address or another section chooses; an address may say anything.
const follow = (key, change) => followers.push([key, change]);

// A section shows another value: the others follow, and the address says so. Nothing is said before the page is drawn.
function tell(key, value) {
  if (!live || chosen.get(key) === String(value)) return;
  chosen.delete(key);
  chosen.set(key, String(value));
  pass(key);
  clearTimeout(pending);
  pending = setTimeout(writeAddress, 200);
}

// Another story was chosen: a token is a place of the one before.
function tellStory(number) {
  if (chosen.get("story") !== String(number)) chosen.delete("token");
  tell("story", number);
}

function forget(key) {
  if (chosen.delete(key)) writeAddress();
}

function pass(key) {
  for (const [of, change] of followers) if (of === key) change(chosen.get(key));
}

function writeAddress() {
  try {
    history.replaceState(null, "", chosen.size ? `#${new URLSearchParams([...chosen])}` : "#");
  } catch { /* a page inside another one has no address of its own */ }
}

// Choose what the address says, and go to the section of what it says last.
function readAddress() {
  live = true;
  if (!location.hash.includes("=")) return;
  const said = [...new URLSearchParams(location.hash.slice(1))].filter(([key]) => key in SECTIONS);
  chosen.clear();
  for (const [key, value] of said) chosen.set(key, value);
  for (const key of Object.keys(SECTIONS)) if (chosen.has(key)) pass(key);
  if (said.length) byId(SECTIONS[said.at(-1)[0]])?.scrollIntoView();
}

addEventListener("hashchange", readAddress);
