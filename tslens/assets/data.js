// Decoding of the page's numbers and of long texts: byte-shuffled typed arrays, or UTF-8; deflated, base64. Attention is in
// 8-bit causal triangles.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, text: Uint8Array };

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  if (packed.type === "text") return new Response(stream).text();
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const raw = new TYPES[packed.type](planes.length / TYPES[packed.type].BYTES_PER_ELEMENT);
  for (let at = 0, shift = 0; at < planes.length; shift += 8) for (let i = 0; i < raw.length; i++) raw[i] |= planes[at++] << shift;
  if (packed.scale === undefined) return raw;
  return Float32Array.from(raw, (q) => (q === 0xffff ? NaN : packed.low + q * packed.scale));
}

// Wilson's 95% interval of shares of so many trials (1927), as its lower and its upper ends.
function wilson(shares, trials) {
  const z2 = 3.841459, end = (sign) => Float32Array.from(shares, (share, i) => {
    const n = trials[i], p = n ? Math.round(share * n) / n : 0.5;
    return clamp((p * n + z2 / 2 + sign * Math.sqrt(z2 * (p * (1 - p) * n + z2 / 4))) / (n + z2), 0, 1);
  });
  return [end(-1), end(1)];
}

// The number of a head or neuron from layer and place, as in "2.1"; null where there is none such.
function placeOf(text, layers, width) {
  const [, layer, place] = String(text).match(/^(\d+)\.(\d+)$/) ?? [];
  return layer !== undefined && Number(layer) < layers && Number(place) < width ? Number(layer) * width + Number(place) : null;
}

// Every packed array in a tree of JSON, in place.
async function unpackAll(node) {
  await Promise.all(Object.entries(node).map(async ([key, value]) => {
    if (value === null || typeof value !== "object") return;
    if (typeof value.data === "string" && value.type in TYPES) node[key] = await unpack(value);
    else await unpackAll(value);
  }));
  return node;
}

// Where the weights of one head on one story begin: a triangle, row after row.
const beginOf = (story, head) => (head * story.attended * (story.attended + 1)) / 2;

// The weights of one head over the first n tokens: row i holds what token i gives to tokens 0..i. Stored as sqrt(p) * 255.
function attentionRows(story, head, n = story.attended) {
  const rows = [];
  for (let i = 0, at = beginOf(story, head); i < n; at += ++i) {
    rows.push(Array.from(story.attention.subarray(at, at + i + 1), (q) => (q / 255) ** 2));
  }
  return rows;
}
