// The worker that runs the model, so that the page stays responsive: a message asks, messages answer. Of two questions of
// one kind the later one counts.

const last = {}; // the number of the last question of each kind
const plain = new Map(); // the last answers of the unchanged model, by kind
let model, tokenizer;

const pause = () => new Promise((resolve) => setTimeout(resolve));

// The last answer of a kind to the same question, or a new one, which is kept.
function kept(kind, question, answer) {
  if (plain.get(kind)?.question !== question) plain.set(kind, { question, answer: answer() });
  return plain.get(kind).answer;
}

async function load(text) {
  const live = await unpackAll(JSON.parse(text));
  tokenizer = tokenizerOf(live.tokenizer);
  model = modelOf(live, weightsOf(live.weights));
  postMessage({ kind: "ready", shown: tokenizer.shown });
}

// The loss of a text, token by token, of the model as it is and with its parts changed.
function readText({ number, text, edits }) {
  const ids = [tokenizer.bos, ...encode(tokenizer, text)], room = model.n_ctx;
  if (ids.length >= room) return postMessage({ kind: "read", number, ids: null, tokens: ids.length, room });
  const losses = ids.length > 1 ? kept("read", text, () => lossesOf(model, ids, [])) : [];
  postMessage({ kind: "read", number, ids, losses, changed: edits.length && ids.length > 1 ? lossesOf(model, ids, edits) : null });
}

function lens({ number, ids, edits, k }) {
  const as = kept("lens", ids.join(), () => lensOf(model, ids, [], k));
  postMessage({ kind: "lens", number, as, changed: edits.length ? lensOf(model, ids, edits, k) : null });
}

// What the model writes after the ids: token after token, until the story ends or a limit is reached.
async function write(which, { number, ids, edits, temperature, seed, most }) {
  const question = JSON.stringify([ids, temperature, seed, most]);
  if (!edits.length && plain.get("write")?.question === question) return postMessage({ ...plain.get("write").answer, number }), true;
  const cache = emptyCache(model), draw = drawsOf(seed), written = [], budget = Math.min(most, model.n_ctx - ids.length);
  let next = ids, said = performance.now(), ended = most <= model.n_ctx - ids.length ? "as many as asked for" : "the context is full";
  const say = (end) => {
    const answer = { kind: "write", number, which, written, text: decode(tokenizer, [...ids, ...written]), ended: end };
    postMessage(answer);
    return answer;
  };
  while (written.length < budget) {
    const x = readTokens(model, cache, next, edits), token = tokenOf(logitsOf(model, x.subarray(-model.d_model)), temperature, draw);
    if (tokenizer.ends.includes(token)) { ended = "the model ended the story"; break; }
    written.push(token);
    next = [token];
    if (performance.now() - said < 40) continue;
    say(null);
    await pause();
    said = performance.now();
    if (last.write !== number) return false;
  }
  const answer = say(ended);
  if (!edits.length) plain.set("write", { question, answer });
  return true;
}

async function writeBoth(question) {
  if (!(await write("as", { ...question, edits: [] }))) return;
  if (question.edits.length) await write("changed", question);
}

const ANSWERS = { read: readText, lens, write: writeBoth };

onmessage = async ({ data }) => {
  if (data.kind === "load") return load(data.text);
  if (data.kind === "stop") return void (last.write = data.number);
  last[data.kind] = data.number;
  await pause(); // questions that came meanwhile are later
  if (last[data.kind] === data.number) await ANSWERS[data.kind](data);
};
