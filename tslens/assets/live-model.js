// The model in plain JavaScript: transformer blocks with a cache of keys and values, computed in double precision.
// `live.py` says which models, and lays out their weights: a matrix has a row for each output.

// The weights by name, as parts of one array of 32-bit floats, from the page's JSON.
function modelOf({ shape, parts }, flat) {
  const weights = {};
  let at = 0;
  for (const [name, size] of parts) weights[name] = flat.subarray(at, (at += size));
  return { ...shape, weights, groups: shape.n_heads / shape.n_key_value_heads, turns: shape.rotary_dim ? turnsOf(shape) : null };
}

// Half-precision numbers as 32-bit ones.
function ofHalves(halves) {
  const table = Float32Array.from({ length: 0x10000 }, (_, h) => {
    const exponent = (h >> 10) & 31, fraction = h & 1023;
    return (h & 0x8000 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  });
  return Float32Array.from(halves, (h) => table[h]);
}

// The weights, from whole 32-bit numbers, from halves, or from steps of a size that each block of them has.
function weightsOf({ precision, numbers, steps, block, middle }) {
  if (precision === "half") return ofHalves(numbers);
  if (precision === "float") return new Float32Array(numbers.buffer);
  const size = new Float32Array(steps.buffer);
  return Float32Array.from(numbers, (q, i) => (q - middle) * size[Math.floor(i / block)]);
}

// Cosines and sines of rotary positions: for each position, of every pair of directions.
function turnsOf({ n_ctx, rotary_dim, rotary_base }) {
  const half = rotary_dim / 2, angle = (i) => Math.floor(i / half) / rotary_base ** ((i % half) / half);
  return { cos: Float64Array.from({ length: n_ctx * half }, (_, i) => Math.cos(angle(i))), sin: Float64Array.from({ length: n_ctx * half }, (_, i) => Math.sin(angle(i))) };
}

function emptyCache({ n_layers, n_ctx, n_key_value_heads, d_head }) {
  const empty = () => Array.from({ length: n_layers }, () => new Float64Array(n_ctx * n_key_value_heads * d_head));
  return { keys: empty(), values: empty(), filled: 0 };
}

// x [n inner] times the rows of a matrix, with a bias where there is one: [n rows].
function product(x, n, matrix, inner, bias) {
  const rows = matrix.length / inner, out = new Float64Array(n * rows), many = n - (n % 4);
  if (bias) for (let p = 0; p < n; p++) out.set(bias, p * rows);
  for (let r = 0; r < rows; r++) for (let p = 0; p < many; p += 4) addFourInputs(x, p * inner, matrix, r * inner, inner, out, p * rows + r, rows);
  for (let p = many; p < n; p++) {
    let r = 0;
    for (; r + 4 <= rows; r += 4) addFourOutputs(x, p * inner, matrix, r * inner, inner, out, p * rows + r);
    for (; r < rows; r++) for (let i = 0; i < inner; i++) out[p * rows + r] += matrix[r * inner + i] * x[p * inner + i];
  }
  return out;
}

// Four sums at a time do not wait for one another. Two functions, since each is fast only for arrays of the same kind.
function addFourInputs(x, p, matrix, w, inner, out, to, rows) {
  const p1 = p + inner, p2 = p1 + inner, p3 = p2 + inner;
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (let i = 0; i < inner; i++) {
    const weight = matrix[w + i];
    s0 += weight * x[p + i];
    s1 += weight * x[p1 + i];
    s2 += weight * x[p2 + i];
    s3 += weight * x[p3 + i];
  }
  out[to] += s0;
  out[to + rows] += s1;
  out[to + 2 * rows] += s2;
  out[to + 3 * rows] += s3;
}

function addFourOutputs(x, p, matrix, w, inner, out, to) {
  const w1 = w + inner, w2 = w1 + inner, w3 = w2 + inner;
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (let i = 0; i < inner; i++) {
    const one = x[p + i];
    s0 += one * matrix[w + i];
    s1 += one * matrix[w1 + i];
    s2 += one * matrix[w2 + i];
    s3 += one * matrix[w3 + i];
  }
  out[to] += s0;
  out[to + 1] += s1;
  out[to + 2] += s2;
  out[to + 3] += s3;
}

// Layer norm (with a shift) or RMS norm (without) of each of n rows; as they are without a gain.
function normed(model, x, n, gain, shift) {
  if (!gain) return x;
  const d = model.d_model, out = new Float64Array(n * d);
  for (let p = 0; p < n; p++) {
    const at = p * d;
    let mean = 0, square = 0;
    if (shift) for (let i = 0; i < d; i++) mean += x[at + i] / d;
    for (let i = 0; i < d; i++) square += (x[at + i] - mean) ** 2 / d;
    const scale = 1 / Math.sqrt(square + model.eps);
    for (let i = 0; i < d; i++) out[at + i] = (x[at + i] - mean) * scale * gain[i] + (shift ? shift[i] : 0);
  }
  return out;
}

// Turn queries or keys [n heads d_head] by their positions: neighbours, or the two halves.
function turn(model, x, n, heads, first) {
  const { d_head, rotary_dim, rotary_adjacent, turns: { cos, sin } } = model, half = rotary_dim / 2;
  for (let p = 0; p < n; p++) for (let h = 0; h < heads; h++) for (let i = 0; i < half; i++) {
    const at = (p * heads + h) * d_head, a = at + (rotary_adjacent ? 2 * i : i), b = rotary_adjacent ? a + 1 : a + half;
    const c = cos[(first + p) * half + i], s = sin[(first + p) * half + i], u = x[a], v = x[b];
    x[a] = u * c - v * s;
    x[b] = v * c + u * s;
  }
}

// What every head reads of the values of the tokens before, [n heads d_head]; keys and values go into the cache.
function attended(model, layer, x, n, cache) {
  const { weights: w, n_heads, n_key_value_heads: kv, d_head, d_model, window, groups } = model, first = cache.filled, width = kv * d_head;
  const [q, k, v] = ["q", "k", "v"].map((part) => product(x, n, w[`${layer}.${part}`], d_model, w[`${layer}.${part}.bias`]));
  if (model.turns) { turn(model, q, n, n_heads, first); turn(model, k, n, kv, first); }
  const keys = cache.keys[layer], values = cache.values[layer], near = model.local_layers.includes(layer) ? window : Infinity;
  keys.set(k, first * width);
  values.set(v, first * width);
  const z = new Float64Array(n * n_heads * d_head), scores = new Float64Array(first + n);
  for (let p = 0; p < n; p++) for (let h = 0; h < n_heads; h++) {
    const last = first + p, from = Math.max(0, last - near + 1), query = (p * n_heads + h) * d_head, head = Math.floor(h / groups) * d_head;
    let most = -Infinity, total = 0;
    for (let j = from; j <= last; j++) {
      let s = 0;
      for (let i = 0, at = j * width + head; i < d_head; i++) s += q[query + i] * keys[at + i];
      scores[j] = s * model.score_scales[layer];
      most = Math.max(most, scores[j]);
    }
    for (let j = from; j <= last; j++) total += scores[j] = Math.exp(scores[j] - most);
    for (let j = from; j <= last; j++) for (let i = 0, at = j * width + head, share = scores[j] / total; i < d_head; i++) z[query + i] += share * values[at + i];
  }
  return z;
}

// The coefficients of the complementary error function (Press et al. 1992, Numerical Recipes in C, 6.2: 1.2e-7 of its value).
const ERFC = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];

function erfc(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x)), tail = t * Math.exp(-x * x + ERFC.reduceRight((sum, c) => sum * t + c, 0));
  return x < 0 ? 2 - tail : tail;
}

const ACTIVATIONS = {
  gelu_new: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu: (x) => 0.5 * x * erfc(-x / Math.SQRT2),
  relu: (x) => Math.max(0, x),
  silu: (x) => x / (1 + Math.exp(-x)),
};

// The neurons of a layer after their activation function, [n d_mlp]; the bias of gated ones is added at the end.
function neurons(model, layer, x, n) {
  const { weights: w, d_model, d_mlp } = model, act = ACTIVATIONS[model.activation], bias = w[`${layer}.in.bias`];
  if (!w[`${layer}.gate`]) return product(x, n, w[`${layer}.in`], d_model, bias).map(act);
  const up = product(x, n, w[`${layer}.in`], d_model);
  return product(x, n, w[`${layer}.gate`], d_model).map((pre, i) => act(pre) * up[i] + (bias ? bias[i % d_mlp] : 0));
}

// Multiply `width` numbers from `start` on, in each of n rows of `across`.
function scaleSome(x, n, across, start, width, by) {
  for (let p = 0; p < n; p++) for (let i = 0; i < width; i++) x[p * across + start + i] *= by;
}

function add(x, y) {
  for (let i = 0; i < x.length; i++) x[i] += y[i];
}

// The residual stream after the last block for the next tokens, [n d_model]. `edits` are [kind, layer, number, scale] of
// heads' outputs and of neurons; `depths`, if given, gets the stream after the embedding and after every block.
function readTokens(model, cache, tokens, edits = [], depths = null) {
  const { weights: w, d_model: d, d_head, d_mlp, n_heads } = model, n = tokens.length, x = new Float64Array(n * d);
  tokens.forEach((t, p) => x.set(w.embed.subarray(t * d, (t + 1) * d), p * d));
  if (w.positions) add(x, w.positions.subarray(cache.filled * d, (cache.filled + n) * d));
  depths?.push(x.slice());
  for (let l = 0; l < model.n_layers; l++) {
    const of = (kind) => edits.filter((edit) => edit[0] === kind && edit[1] === l), before = model.parallel ? x.slice() : x;
    const z = attended(model, l, normed(model, x, n, w[`${l}.norm1`], w[`${l}.norm1.bias`]), n, cache);
    for (const [, , h, by] of of("head")) scaleSome(z, n, n_heads * d_head, h * d_head, d_head, by);
    add(x, product(z, n, w[`${l}.o`], n_heads * d_head, w[`${l}.o.bias`]));
    if (w[`${l}.in`]) {
      const post = neurons(model, l, normed(model, before, n, w[`${l}.norm2`], w[`${l}.norm2.bias`]), n);
      for (const [, , i, by] of of("neuron")) scaleSome(post, n, d_mlp, i, 1, by);
      add(x, product(post, n, w[`${l}.out`], d_mlp, w[`${l}.out.bias`]));
    }
    depths?.push(x.slice());
  }
  cache.filled += n;
  return x;
}

// Logits [n d_vocab] of rows of the residual stream: after the last block the model's own, before it the logit lens.
function logitsOf(model, x) {
  const { weights: w, d_model } = model, n = x.length / d_model;
  return product(normed(model, x, n, w.final, w["final.bias"]), n, w.unembed ?? w.embed, d_model, w["unembed.bias"]);
}

// Log-probabilities from the logits of one position, in place.
function logSoftmax(logits) {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity), total = logits.reduce((sum, s) => sum + Math.exp(s - most), 0);
  return logits.forEach((s, i) => { logits[i] = s - most - Math.log(total); }), logits;
}

// Minus the log-probability of every token but the first, in nats.
function lossesOf(model, ids, edits) {
  const x = readTokens(model, emptyCache(model), ids.slice(0, -1), edits), v = model.d_vocab, logits = logitsOf(model, x);
  return Array.from(ids.slice(1), (id, p) => -logSoftmax(logits.subarray(p * v, (p + 1) * v))[id]);
}

// The likeliest tokens after the last of the ids, as the final norm and unembedding read each depth: [depth k] of
// [id, probability].
function lensOf(model, ids, edits, k) {
  const depths = [], d = model.d_model;
  readTokens(model, emptyCache(model), ids, edits, depths);
  return depths.map((x) => {
    const logp = logSoftmax(logitsOf(model, x.slice(-d)));
    return Array.from(logp, (p, id) => [id, p]).sort((a, b) => b[1] - a[1]).slice(0, k).map(([id, p]) => [id, Math.exp(p)]);
  });
}

// Numbers from 0 to 1 from a seed (mulberry32, by Tommy Ettinger, public domain).
function drawsOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// One token: the likeliest at temperature 0 (the first of equals), else drawn.
function tokenOf(logits, temperature, draw) {
  if (!temperature) return logits.reduce((best, s, i) => (s > logits[best] ? i : best), 0);
  let left = draw();
  const logp = logSoftmax(logits.map((s) => s / temperature));
  const found = logp.findIndex((p) => (left -= Math.exp(p)) < 0);
  return found === -1 ? logp.length - 1 : found;
}
