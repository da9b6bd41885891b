// The glossary's words in texts that the page's script writes.

// The words, the longest first, each with its meaning and the pattern of its places in a text.
const glossary = () => Array.from(document.querySelectorAll("dl.words dt"), (word) => ({ place: `#${word.id}`, length: word.textContent.length,
  pattern: new RegExp(word.dataset.found, "g"), meaning: word.nextElementSibling.textContent })).sort((a, b) => b.length - a.length);

// A text in which the first of each word is a link to its meaning, which is shown at the pointer.
function explained(text) {
  const marks = [], parts = [];
  for (const word of glossary()) {
    const found = Array.from(text.matchAll(word.pattern)).find((m) => marks.every(({ begin, end }) => m.index + m[0].length <= begin || m.index >= end));
    if (found) marks.push({ word, begin: found.index, end: found.index + found[0].length });
  }
  let at = 0;
  for (const { word, begin, end } of marks.sort((a, b) => a.begin - b.begin)) {
    parts.push(text.slice(at, begin), el("a", { class: "term", href: word.place, title: word.meaning }, text.slice(begin, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}
