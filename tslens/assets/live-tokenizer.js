// The model's tokenizer: byte-pair merges over the bytes of words (GPT-2) or over the characters of the whole text
// (SentencePiece, as llama2.c has it). `live_tokenizer.py` says which tokenizers are encoded exactly.

const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const UTF8 = new TextEncoder(), LOSSY = new TextDecoder("utf-8", { ignoreBOM: true }), STRICT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// From the page's JSON: ranks of merges by the pair of ids, and ids of single characters.
function tokenizerOf(given) {
  const ranks = new Map(), { merges, size } = given;
  for (let i = 0; i < merges.length; i += 3) ranks.set(merges[i] * size + merges[i + 1], i / 3);
  return { ...given, ranks, characters: new Map(given.characters), single: new Map(Array.from(given.bytes, (id, byte) => [id, byte])) };
}

// The ids of a text, without BOS.
function encode(tokenizer, text) {
  if (tokenizer.kind === "bytes") return (text.match(WORDS) ?? []).flatMap((word) => merged(tokenizer, bytesOf(tokenizer, word)));
  if (!text) return [];
  let whole = tokenizer.before + text;
  for (const [from, to] of tokenizer.replaced) whole = whole.replaceAll(from, to);
  return merged(tokenizer, Array.from(whole).flatMap((c) => tokenizer.characters.get(c) ?? bytesOf(tokenizer, c)));
}

const bytesOf = ({ bytes }, text) => Array.from(UTF8.encode(text), (byte) => bytes[byte]);

// The symbols after all merges: always the pair of the lowest rank, the leftmost of several.
function merged({ ranks, merges, size }, symbols) {
  const rank = (i) => (i >= 0 && i + 1 < symbols.length ? ranks.get(symbols[i] * size + symbols[i + 1]) ?? Infinity : Infinity);
  const at = symbols.map((_, i) => rank(i));
  for (;;) {
    let best = 0;
    for (let i = 1; i < at.length; i++) if (at[i] < at[best]) best = i;
    if (!(at[best] < Infinity)) return symbols;
    symbols.splice(best, 2, merges[3 * at[best] + 2]);
    at.splice(best, 1);
    at[best] = rank(best);
    if (best) at[best - 1] = rank(best - 1);
  }
}

// The text of ids, BOS and EOS left out: bytes that are no characters become U+FFFD.
function decode(tokenizer, ids) {
  const kept = ids.slice(ids[0] === tokenizer.bos ? 1 : 0).filter((id) => !tokenizer.hidden.includes(id));
  if (tokenizer.kind === "bytes") return LOSSY.decode(Uint8Array.from(kept.flatMap((id) => Array.from(tokenizer.texts[id], (c) => c.charCodeAt(0)))));
  let text = "", run = [];
  for (const id of [...kept, null]) {
    if (tokenizer.single.has(id)) { run.push(tokenizer.single.get(id)); continue; }
    text += wholeBytes(run) + (id === null ? "" : tokenizer.texts[id]);
    run = [];
  }
  return text.startsWith(" ") ? text.slice(1) : text;
}

function wholeBytes(run) {
  try {
    return STRICT.decode(Uint8Array.from(run));
  } catch {
    return "\ufffd".repeat(run.length);
  }
}
