// What is chosen, kept in the page's address: a link opens what was seen, going back shows what was there before, and
// sections that show the same story move together.

// The section of each key, in the order in which keys are read; `at` names the section itself, or a word of the glossary.
const SECTIONS = {
  colour: "heads", role: "heads", head: "heads", story: "heads", first: "heads", token: "heads", direction: "heads", view: "heads",
  find: "neurons", of: "neurons", label: "neurons", sort: "neurons", page: "neurons", neuron: "neurons", whole: "whole",
  shade: "lens", layer: "lens", text: "live", parts: "live", write: "live", step: "film", at: null,
};
const chosen = new Map(), followers = [];
let live = false, pending, held = null;

// Calls `change` with the values of a key that an address or another section chooses, and with null where an address no
// longer names the key: then the section is as the page begins. An address may say anything.
const follow = (key, change) => followers.push([key, change]);

// Keep the value of a field as a key, but for the one that it has as the page begins. What it returns tells a new one.
function keep(key, field, change) {
  const first = field.value, allowed = (value) => !field.options || [...field.options].some((option) => option.value === value);
  follow(key, (value) => {
    const wanted = value !== null && allowed(value) ? value : first;
    if (wanted === field.value) return;
    field.value = wanted;
    change(wanted);
  });
  return () => { if (field.value === first) forget(key); else tell(key, field.value); };
}

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

// The key is again as the page begins.
function forget(key) {
  if (!chosen.delete(key)) return;
  pass(key);
  writeAddress();
}

function pass(key) {
  for (const [of, change] of followers) if (of === key) change(chosen.get(key) ?? null);
}

const addressOf = (said) => (said.size ? `#${new URLSearchParams([...said])}` : "#");

// `entry`: the browser goes back to what was there before.
function writeAddress(entry = false) {
  clearTimeout(pending);
  try {
    history[entry ? "pushState" : "replaceState"](null, "", addressOf(chosen));
  } catch { /* a page inside another one has no address of its own */ }
}

// Show what is said, what it does not name as the page begins, and go to the section of what it says last.
function show(said) {
  const keys = Object.keys(SECTIONS).filter((key) => said.has(key) || chosen.has(key)), last = [...said.keys()].at(-1);
  chosen.clear();
  for (const [key, value] of said) chosen.set(key, value);
  keys.forEach(pass);
  if (last) goTo((last === "neuron" && document.querySelector("tr.row.open")) || byId(SECTIONS[last] ?? said.get(last)));
}

function goTo(place) {
  document.querySelector(".target")?.classList.remove("target");
  held = place;
  if (!place) return;
  place.classList.add("target");
  place.scrollIntoView();
  if (place.tabIndex < 0) place.setAttribute("tabindex", -1);
  place.focus({ preventScroll: true });
}

// The keys of an address; one without keys, such as `#lens`, names a place.
function saidBy(hash) {
  if (!hash.includes("=")) return new Map(hash.length > 1 ? [["at", hash.slice(1)]] : []);
  return new Map([...new URLSearchParams(hash.slice(1))].filter(([key]) => Object.hasOwn(SECTIONS, key)));
}

function readAddress() {
  live = true;
  show(saidBy(location.hash));
}

// A link within the page changes what it names and leaves the rest as it is.
function followLink(event) {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  writeAddress();
  const said = new Map(chosen), asked = saidBy(link.hash);
  said.delete("at");
  for (const [key, value] of asked) { said.delete(key); said.set(key, value); }
  if (asked.has("story") && !asked.has("token")) said.delete("token");
  const before = addressOf(chosen);
  show(said);
  writeAddress(addressOf(chosen) !== before);
}

// Sections change their height as they come into view: until the reader does something, the place that was gone to stays.
new ResizeObserver(() => held?.scrollIntoView({ behavior: "instant" })).observe(document.body);
for (const input of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(input, () => { held = null; }, { capture: true, passive: true });

addEventListener("hashchange", readAddress);
addEventListener("click", followLink);
